/* nnU-Net's names of the parameters of our networks. */
#ifndef HWS_NNUNET_NNUNET_NAMES_H
#define HWS_NNUNET_NNUNET_NAMES_H

#include "plan/topology.h"

#include <stddef.h>

enum { NNUNET_NAME_SIZE = 128 };

/*
 *     encoder.L.K           encoder.stages.L.0.convs.K
 *     encoder.L.B.conv1     encoder.stages.L.blocks.B.conv1        of residual blocks; conv2 and skip likewise
 *     stem                  encoder.stem.convs.0
 *     decoder.L.K           decoder.stages.S.convs.K               S counts from the bottom up: levels - 2 - L
 *     up.L, heads.L         decoder.transpconvs.S, decoder.seg_layers.S
 *
 * with what follows (conv.weight, norm.bias, ...). Returns 0 if it is none of them.
 */
int nnunet_name(const char *ours, const topology *topology, char name[NNUNET_NAME_SIZE]);

/* Whether nnU-Net has this tensor a second time under another name: its decoder refers to the encoder, and each
   block lists its layers again. */
int nnunet_name_is_double(const char *name);

#endif
