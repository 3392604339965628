/* A round pen on a small canvas of grey: smooth strokes through points, with soft edges. The same bits on every
   machine: nothing but +, -, *, / and the square root. */
#ifndef HWS_IMAGES_PEN_H
#define HWS_IMAGES_PEN_H

typedef struct pen_point {
    double x, y;   /* in pixels; the middle of the first pixel is (0, 0) */
    double radius; /* of the pen here, in pixels */
} pen_point;

typedef struct pen_canvas {
    int height, width;
    double softness; /* pixels from full ink to none, at the edge of a stroke */
    double *ink;     /* height x width, 0 to 1; the caller's */
} pen_canvas;

/* A curve through the points (Catmull-Rom); a point given twice in a row is a corner. Where strokes meet, the darker
   one shows. Points may lie outside. At least one point. */
void pen_draw(pen_canvas *canvas, const pen_point *points, int count);

#endif
