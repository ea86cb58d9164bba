"""Functions of neural networks, under PyTorch's names."""

from __future__ import annotations

from .. import _rgrad

# The catalogue is spelled out, so that a name the core lacks is seen by the tests and not served by chance.
_NAMES = """
adaptive_avg_pool1d adaptive_avg_pool2d adaptive_avg_pool3d adaptive_max_pool1d adaptive_max_pool2d
adaptive_max_pool3d affine_grid alpha_dropout avg_pool1d avg_pool2d avg_pool3d batch_norm bilinear
binary_cross_entropy binary_cross_entropy_with_logits celu channel_shuffle conv1d conv2d conv3d conv_transpose1d
conv_transpose2d conv_transpose3d cosine_embedding_loss cosine_similarity cross_entropy ctc_loss dropout dropout1d
dropout2d elu embedding embedding_bag fold gaussian_nll_loss gelu glu grid_sample group_norm hardshrink hardsigmoid
hardswish hardtanh hinge_embedding_loss huber_loss instance_norm interpolate kl_div l1_loss layer_norm leaky_relu
linear local_response_norm log_softmax logsigmoid margin_ranking_loss max_pool1d max_pool2d max_pool3d max_unpool1d
max_unpool2d max_unpool3d mish mse_loss multi_margin_loss multilabel_margin_loss multilabel_soft_margin_loss nll_loss
normalize one_hot pad pairwise_distance pdist pixel_shuffle pixel_unshuffle poisson_nll_loss prelu relu relu6 rms_norm
scaled_dot_product_attention selu sigmoid silu smooth_l1_loss soft_margin_loss softmax softmin softplus softshrink
softsign tanh tanhshrink threshold triplet_margin_loss triplet_margin_with_distance_loss unfold
""".split()

__all__ = [name for name in _NAMES if hasattr(_rgrad, name)]
globals().update({name: getattr(_rgrad, name) for name in __all__})
