#!/usr/bin/env bash
# Run tests of the bench without the training half: tools/bench_alone.sh FOLDER [arguments of pytest]
# The committed tree is copied to FOLDER, hil/training and what it registers are deleted there, and the copy is
# installed into an environment of its own, which borrows the libraries of the one that runs this, except those that only
# the training half and data frames need (the extras `training` and `frames`).
set -euo pipefail
folder=$1
shift
root=$(cd "$(dirname "$0")/.." && pwd)
mkdir -p "$folder"
chmod 755 "$folder" # one test reads it as another user; a folder of mktemp is closed to others
git -C "$root" archive HEAD | tar -x -C "$folder"
cd "$folder"
rm -r hil/training hil/trial hil/suite
sed -i '/^training = "hil.training/d' pyproject.toml
libraries=$(python3 -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
python3 -m venv --without-pip .venv
own=$(.venv/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
find "$libraries" -maxdepth 1 -mindepth 1 ! -iname '*trainrig*' ! -name '__pycache__' -exec ln -s -t "$own" {} +
python3 - <<'END' | (cd "$own" && xargs -d '\n' rm -f)
import re
from importlib.metadata import distribution, requires

of_extras = [each for each in requires("trainrig") if re.search(r"extra == .(training|frames)\W", each)]
names = ["dask", *(re.match(r"[\w-]+", each)[0] for each in of_extras)]  # distributed brings dask
print(*{file.parts[0] for name in names for file in distribution(name).files} - {"..", "__pycache__"}, sep="\n")
END
.venv/bin/python -m pip install -q --no-deps -e .
exec .venv/bin/python -m pytest "$@"
