// npm exec -- node bench/picture.ts: draws the figures of bench/RESULTS.md, as a run in full size does itself.
import { drawFigures } from './upstream/bars.ts'

drawFigures()
