from hws.nnunet import __getattr__  # noqa: F401  nnUNetTrainerHWS and its variants, made when nnU-Net asks for them
