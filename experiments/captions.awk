# What is said below the picture of a case: CASE<tab>words in HTML. After csv.awk. Input: a cases.csv; a variable: method.

NR == 1 {
    columns = split_csv($0, name)
    for (k = 4; k <= columns && name[k] != "Dice"; k++) continue
    dice = k
    next
}
{
    split_csv($0, f)
    if (!(f[1] in groups)) {
        order[++count] = f[1]
        groups[f[1]] = ""
        for (k = 4; k < dice; k++)
            if (f[k] != "") groups[f[1]] = groups[f[1]] (groups[f[1]] == "" ? "" : ", ") escape(name[k] ": " f[k])
    }
    if (f[dice] == "") next
    sum[f[1]] += f[dice]; known[f[1]]++
    scores[f[1]] = scores[f[1]] sprintf(", %s %.1f %%", escape(f[2]), 100 * f[dice])
}
END {
    for (c = 1; c <= count; c++) {
        one = order[c]
        printf "%s\t<b>%s</b>%s<br>%s: ", one, escape(one), groups[one] == "" ? "" : " (" groups[one] ")", escape(method)
        if (known[one]) printf "Dice %.1f %%%s\n", 100 * sum[one] / known[one], scores[one]
        else print "no Dice: nothing to find, nothing found"
    }
}
