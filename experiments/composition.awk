# What a dataset is made of, as the paper's Table 1, in HTML: the number of volumes in training and testing for each
# combination of groups, and the range of columns that are numbers or ranges of them (26-30). Columns with other values for
# most cases, such as patients, are left out. After csv.awk. Input: lines SET,CASE, then a groups.csv.

FNR == 1 { file++ }
file == 1 { at = index($0, ","); set[substr($0, at + 1)] = substr($0, 1, at - 1); next }
FNR == 1 { columns = split_csv($0, name); next }
{
    n = split_csv($0, f)
    if (!(f[1] in set)) next
    cases[++count] = f[1]
    for (k = 2; k <= columns; k++) {
        value[count, k] = f[k]
        if (!((k, f[k]) in seen)) { seen[k, f[k]] = 1; different[k]++ }
        if (f[k] != "" && f[k] !~ /^[0-9.]+(-[0-9.]+)?$/) words[k] = 1
    }
}

function widen(row, k, text,    ends) {
    if (split(text, ends, "-") == 1) ends[2] = ends[1]
    if (!((row, k) in low) || ends[1] + 0 < low[row, k]) low[row, k] = ends[1] + 0
    if (!((row, k) in high) || ends[2] + 0 > high[row, k]) high[row, k] = ends[2] + 0
}

END {
    for (k = 2; k <= columns; k++) kind[k] = !(k in words) ? "range" : different[k] > count / 2 ? "name" : "group"
    for (c = 1; c <= count; c++) {
        key = "<td>" (set[cases[c]] == "train" ? "Training" : "Testing") "</td>"
        for (k = 2; k <= columns; k++) if (kind[k] == "group") key = key "<td>" escape(value[c, k]) "</td>"
        if (!(key in volumes)) rows[++row_count] = key
        volumes[key]++
        for (k = 2; k <= columns; k++) if (kind[k] == "range" && value[c, k] != "") widen(key, k, value[c, k])
    }
    for (r = 1; r <= row_count; r++) for (s = r + 1; s <= row_count; s++) # training first
        if ((rows[r] ~ /^<td>Testing/) > (rows[s] ~ /^<td>Testing/) || ((rows[r] ~ /^<td>Testing/) == (rows[s] ~ /^<td>Testing/) && rows[s] < rows[r])) {
            x = rows[r]; rows[r] = rows[s]; rows[s] = x
        }
    printf "<div class=\"scroll\"><table><tr><th>Train/Test</th>"
    for (k = 2; k <= columns; k++) if (kind[k] == "group") printf "<th>%s</th>", escape(name[k])
    printf "<th>Volumes</th>"
    for (k = 2; k <= columns; k++) if (kind[k] == "range") printf "<th>%s</th>", escape(name[k])
    print "</tr>"
    for (r = 1; r <= row_count; r++) {
        printf "<tr>%s<td>%d</td>", rows[r], volumes[rows[r]]
        for (k = 2; k <= columns; k++)
            if (kind[k] == "range") printf (rows[r], k) in low ? "<td>[%g, %g]</td>" : "<td></td>", low[rows[r], k], high[rows[r], k]
        print "</tr>"
    }
    print "</table></div>"
}
