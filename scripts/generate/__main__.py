from pathlib import Path

from scripts.generate.outputs import outputs

ROOT = Path(__file__).resolve().parents[2]

for path, text in outputs(ROOT).items():
    path.write_text(text, encoding="utf-8")
