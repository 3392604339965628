/* The files of a run that classifies, and of one that segments. */
#define _XOPEN_SOURCE 700 /* mkdtemp */
#include "fuzz_folder.h"
#include "report_files.h"
#include "testing.h"

/* In the order of REPORT_FILES; NULL: there is none. */
static const char *const CLASSIFIER[REPORT_FILE_COUNT] = {
    "{\"settings\": {\"data\": \"pictures\", \"objective\": \"dro\", \"beta\": 10, \"model\": \"resnet-10\", "
    "\"epochs\": 2, "
    "\"keep\": {\"dog\": 0.1}}, \"facts\": {\"task\": \"classification\", \"examples\": 3, \"classes\": [\"cat\", "
    "\"dog\"], \"image_size\": [4, 4, 1], \"epoch_iterations\": 5}}",
    "epoch,iteration,seconds,lr,train_loss_mean,train_loss_std,robust_loss,ess,p_max,clip_rate,test_accuracy,"
    "test_accuracy_cat,test_accuracy_dog,test_loss,test_worst_group,beta,grad_norm,cvar_5,loss_p95,loss_p95_bound,"
    "unseen,"
    "weight_mean,stale_distance,group_weight_max\n1,5,2.5,0.1,0.7,0.2,0.9,2.5,0.5,0.1,0.5,0.9,0.1,0.8,0.1,10,,1,1,2,0,"
    "1,,\n"
    "2,10,5,0.01,0.4,0.1,0.6,2,0.6,0,0.75,1,0.5,0.5,0.5,10,,0.8,0.9,1,0,1,,\n",
    "epoch,l0,l5,l25,l50,l75,l95,l100,p0,p5,p25,p50,p75,p95,p100\n1,0,0,0.1,0.2,0.5,2,3,0.1,0.2,0.5,0.7,1.2,4,9\n"
    "2,0,0,0.1,0.2,0.4,1,2,0.1,0.2,0.5,0.7,1.2,4,9\n",
    "example,stale_loss,age,draws,label,group\na,2.5,1,9,1,x\nb,0.1,2,3,0,y\nc,,5,0,0,\n",
    "rank,example,label,prediction,loss,draws,age\n1,a,dog,cat,2.5,9,1\n2,b,cat,cat,0.1,3,2\n",
    "rank,example,doubt,loss,loss_mean,peers,trend,evidence,draws,label,prediction,margin,group\n"
    "1,a,0.9,2.5,2.4,0.3,0.1,4,9,dog,cat,-2,x\n2,b,0,0.1,0.2,0.3,-0.1,0,3,cat,cat,1.5,y\n",
    NULL,
    NULL,
    "kind,column,value,example,label,prediction,loss,margin\nhardest,group,x,a,dog,cat,2.5,0.9\n"
    "doubtful,,,b,cat,cat,0.1,0.01\n",
    "column,value,examples,accuracy,accuracy_low,accuracy_high,balanced,balanced_low,balanced_high,auroc,auroc_low,"
    "auroc_high,ece,ece_low,ece_high\n,,12,0.75,0.5,0.9,0.7,0.5,0.9,0.8,0.6,0.95,0.1,0.05,0.2\n"
    "group,x,6,0.5,nan,nan,0.5,nan,nan,0.5,nan,nan,0.2,nan,nan\n",
    "label,cat,dog\ncat,5,1\ndog,2,4\n",
    "bin,low,high,examples,accuracy,confidence\n0,0.5,0.6,3,0.4,0.55\n1,0.9,1,9,0.8,0.95\n",
    "2026-01-02 03:04:05  epoch 1: loss 0.7\n",
    NULL};

static const char *const SEGMENTATION[REPORT_FILE_COUNT] = {
    "{\"task\": \"segmentation\", \"objective\": \"erm\", \"beta\": 0, \"data\": \"/data/brains\", \"model\": "
    "\"unet\", "
    "\"examples\": 3, \"fold\": 0, \"classes\": [\"background\", \"Anterior\", \"Posterior\"]}",
    "epoch,iteration,seconds,lr,train_loss_mean,train_loss_std,robust_loss,ess,p_max,val_dice,val_dice_Anterior,"
    "val_dice_Posterior,val_loss\n1,50,60,0.01,-0.4,0.2,-0.1,3,0.5,0.4,0.5,0.3,-0.3\n2,100,120,0.01,-0.6,0.1,-0.2,3,0."
    "5,"
    "0.6,0.7,0.5,-0.5\n",
    "epoch,l0,l5,l25,l50,l75,l95,l100,p0,p5,p25,p50,p75,p95,p100\n1,-1,-0.9,-0.8,-0.5,-0.4,0,0.1,0,0.2,0.5,0.7,1.2,4,"
    "9\n",
    "example,stale_loss,age,draws\na,-0.3,1,9\nb,-0.9,2,3\n",
    "rank,example,label,prediction,loss,draws,age\n1,a,,Dice 0.85 in this plane,-0.3,9,1\n",
    NULL,
    "case,label,key,site,Dice,HD95\na,Anterior,1,x,0.6,2.5\na,Posterior,2,x,0.4,nan\nb,Anterior,1,y,0.9,1\n"
    "b,Posterior,2,y,0.8,1.5\n",
    "case,centre,sex\na,Leuven,f\nb,Vienna,\n",
    "rank,example,dice,label,label_dice\n1,a,0.5,Posterior,0.4\n2,b,0.85,Posterior,0.8\n",
    NULL,
    NULL,
    NULL,
    NULL,
    "{\"metric_per_case\": [{\"metrics\": {\"1\": {\"Dice\": 0.6}}, \"prediction_file\": \"/x/a.nii.gz\", "
    "\"reference_file\": \"/y/a.nii.gz\"}]}"};

size_t fuzz_example(uint64_t *random, uint8_t *bytes, size_t *front) {
    const char *const *files = test_random(random) % 2 ? CLASSIFIER : SEGMENTATION;
    for (int k = 0; k < REPORT_FILE_COUNT; k++) {
        unlink(fuzz_path(REPORT_FILES[k]));
        if (files[k] && (k == 0 || test_random(random) % 8)) fuzz_put(REPORT_FILES[k], files[k], strlen(files[k]));
    }
    return *front = fuzz_get_files(REPORT_FILES, REPORT_FILE_COUNT, bytes);
}
