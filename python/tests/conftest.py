import os
import sys
from pathlib import Path

import lightning_clone

# The package of the checkout, also in processes that tests start.
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

# Clones of other projects, where the user has them: make test-nnunet NNUNET=FOLDER.
CLONES = os.environ.get("NNUNET")
PEERS = [str(Path(CLONES).resolve() / name) for name in ("MONAI", "ignite")] if CLONES else []
sys.path[1:1] = PEERS
if CLONES:
    lightning_clone.make_importable(Path(CLONES).resolve())
