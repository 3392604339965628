# Leaves all but KEEP patients of the diagnosis RARE out of the training cases of every fold.
# usage: awk -v RARE=RV -v KEEP=2 -f rare_group.awk groups.csv splits_final.json   (diagnosis second, patient last in groups.csv)
BEGIN { FS = "," }
NR == FNR { if (FNR > 1) { diagnosis[$1] = $2; patient[$1] = $NF } next }
/"train"/ { train = 1; kept = 0; delete seen }
/"val"/ { train = 0 }
{ name = $0; gsub(/[ ",]/, "", name)
  if (train && diagnosis[name] == RARE) {
      if (!(patient[name] in seen)) { seen[patient[name]] = ++kept }
      if (seen[patient[name]] > KEEP) next } 
  lines[++n] = $0 }
END { for (i = 1; i <= n; i++) { if (lines[i+1] ~ /^ *\]/) sub(/,$/, "", lines[i]); print lines[i] } }
