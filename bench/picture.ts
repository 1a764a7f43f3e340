// npm exec -- node bench/picture.ts: draws the figures of bench/RESULTS.md, as a whole run of the benchmark does itself.
import { drawFigures } from './upstream/bars.ts'

drawFigures()
