"""`muonlab.teaching`: folders that `muonlab teach export` made before import its modules so."""

from muonlab_teaching import __path__ as __path__
