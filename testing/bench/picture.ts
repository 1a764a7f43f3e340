// npm exec -- node testing/bench/picture.ts: draws the figures of testing/bench/RESULTS.md, as a run in full size does itself.
import { drawFigures } from './upstream/bars.ts'

drawFigures()
