#!/bin/sh
# A table like Adult's, made up: age, hours, education, job, sex, and whether the income is high. Women earn by another rule
# than men and are a fifth of the rows, so that a network that learns the men's rule fails them.
# usage: experiments/make_table.sh ROWS >table.csv
export LC_ALL=C
awk -v rows="${1:?usage: experiments/make_table.sh ROWS}" 'BEGIN {
    srand(1)
    split("school,college,university", education, ","); split("office,craft,care,trade", job, ",")
    print "id,age,hours,education,job,sex,income"
    for (i = 0; i < rows; i++) {
        woman = rand() < 0.2; age = 18 + int(50 * rand()); hours = 10 + int(50 * rand())
        e = 1 + int(3 * rand()); j = 1 + int(4 * rand())
        score = woman ? e - 2 + (j == 3) - 0.5 : (age - 40) / 15 + (hours - 35) / 15
        missing = rand() < 0.02
        printf "%d,%d,%s,%s,%s,%s,%s\n", i, age, missing ? "" : hours, education[e], job[j], woman ? "female" : "male",
            (score + 0.6 * (rand() - 0.5) > 0 ? ">50K" : "<=50K")
    }
}'
