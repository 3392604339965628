import os
import sys
from pathlib import Path

# The package of the checkout, also in processes that tests start.
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

# Clones of other projects, where the user has them: make test-nnunet NNUNET=FOLDER.
PEERS = [str(Path(os.environ["NNUNET"]).resolve() / name) for name in ("MONAI", "ignite")] if os.environ.get("NNUNET") else []
sys.path[1:1] = PEERS
