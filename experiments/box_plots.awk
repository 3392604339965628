# Box plots as SVG of the Dice by a column of groups and by label, one box per method. Input: cases.csv of several
# evaluations, headers included, with the method's name before each line. A variable: column. After csv.awk.
# Boxes from quartile to quartile with the median; whiskers to the last case within 1.5 boxes; points are the cases beyond.

# As numpy.quantile of v[1..n], sorted.
function quantile(v, n, share,    place, low) {
    place = 1 + (n - 1) * share
    low = int(place)
    return low >= n ? v[n] : v[low] + (place - low) * (v[low + 1] - v[low])
}

function sort(v, n,    i, j, x) {
    for (i = 2; i <= n; i++) {
        x = v[i]
        for (j = i - 1; j >= 1 && v[j] > x; j--) v[j + 1] = v[j]
        v[j + 1] = x
    }
}

function y_of(dice) { return 20 + 200 * (1 - dice) }

function box(list, x, colour, title,    v, words, n, k, q1, q2, q3, low, high) {
    n = split(list, words, " ")
    for (k = 1; k <= n; k++) v[k] = words[k] + 0
    sort(v, n)
    q1 = quantile(v, n, 0.25); q2 = quantile(v, n, 0.5); q3 = quantile(v, n, 0.75)
    low = q1; high = q3
    for (k = n; k >= 1; k--) if (v[k] >= q1 - 1.5 * (q3 - q1)) low = v[k] < low ? v[k] : low
    for (k = 1; k <= n; k++) if (v[k] <= q3 + 1.5 * (q3 - q1)) high = v[k] > high ? v[k] : high
    printf "<g stroke=\"%s\" fill=\"none\"><title>%s, %d cases: median %.1f %%, quartiles %.1f and %.1f %%</title>", colour, escape(title), n, 100 * q2, 100 * q1, 100 * q3
    printf "<path d=\"M%g %gV%gM%g %gV%g\"/>", x + 9, y_of(low), y_of(q1), x + 9, y_of(high), y_of(q3)
    printf "<rect x=\"%g\" y=\"%g\" width=\"18\" height=\"%g\" fill=\"%s\" fill-opacity=\".25\"/>", x, y_of(q3), 200 * (q3 - q1), colour
    printf "<path stroke-width=\"2\" d=\"M%g %gh18\"/>", x, y_of(q2)
    for (k = 1; k <= n; k++) if (v[k] < low || v[k] > high) printf "<circle cx=\"%g\" cy=\"%g\" r=\"2.5\"/>", x + 9, y_of(v[k])
    print "</g>"
}

{
    n = split_csv($0, f)
    if (f[2] == "case") {
        group_at = dice_at = 0
        for (k = 3; k <= n; k++) { if (f[k] == column) group_at = k; if (f[k] == "Dice") dice_at = k }
        next
    }
    if (!dice_at || f[dice_at] == "") next
    method = f[1]; label = f[3]; group = group_at && f[group_at] != "" ? f[group_at] : "all"
    if (!(method in method_seen)) { method_seen[method] = 1; methods[++method_count] = method }
    if (!(label in label_seen)) { label_seen[label] = 1; labels[++label_count] = label }
    if (!(group in group_seen)) { group_seen[group] = 1; groups[++group_count] = group }
    values[label, group, method] = values[label, group, method] " " f[dice_at]
}

END {
    split("#b5541c #1c6fb5 #3a7d44 #7b4fa3 #888888 #c2a000 #00897b #ad1457", colours, " ")
    for (g = 1; g <= group_count; g++) for (h = g + 1; h <= group_count; h++)
        if (groups[h] < groups[g]) { x = groups[g]; groups[g] = groups[h]; groups[h] = x }
    for (l = 1; l <= label_count; l++) {
        wide = 60 + group_count * (method_count * 24 + 30)
        printf "<figure><figcaption>%s</figcaption><svg width=\"%d\" height=\"262\" viewBox=\"0 0 %d 262\" font-family=\"sans-serif\" font-size=\"11\" fill=\"currentColor\">", escape(labels[l]), wide, wide
        for (k = 0; k <= 4; k++)
            printf "<path d=\"M34 %gH%d\" class=\"line\"/><text x=\"30\" y=\"%g\" text-anchor=\"end\">%d</text>", y_of(k / 4), wide, y_of(k / 4) + 4, 25 * k
        for (g = 1; g <= group_count; g++) {
            left = 44 + (g - 1) * (method_count * 24 + 30)
            for (m = 1; m <= method_count; m++)
                if ((labels[l], groups[g], methods[m]) in values)
                    box(values[labels[l], groups[g], methods[m]], left + (m - 1) * 24, colours[(m - 1) % 8 + 1], methods[m] ", " groups[g])
            printf "<text x=\"%g\" y=\"242\" text-anchor=\"middle\">%s</text>", left + method_count * 12, escape(groups[g])
        }
        print "</svg></figure>"
    }
    printf "<p>Dice in percent, by %s. ", escape(column)
    for (m = 1; m <= method_count; m++) printf "<span style=\"color:%s\">&#9632;</span> %s ", colours[(m - 1) % 8 + 1], escape(methods[m])
    print "</p>"
}
