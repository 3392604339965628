import sys
from pathlib import Path

# The package of the checkout, also in processes that tests start.
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
