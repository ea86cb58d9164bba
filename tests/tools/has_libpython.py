"""Exit status 0 when this Python comes with a libpython that test binaries can be linked with."""

import os
import sys
import sysconfig


def libraries():
    get = sysconfig.get_config_var
    for folder in (get("LIBDIR"), get("LIBPL")):
        for name in (get("LDLIBRARY"), get("LIBRARY")):
            if folder and name:
                yield os.path.join(folder, name)


sys.exit(0 if any(map(os.path.exists, libraries())) else 1)
