import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { table } from './markdown.ts'
import { ROOT } from './source-texts.ts'

/** A row of the README's table of measurements, and the place of its two figures in testing/bench/RESULTS.md. */
interface Headline {
  readonly says: string
  /** The start of the heading in RESULTS.md. */
  readonly scene: string
  readonly sidecar: 'attacher' | 'resizer' | 'pod'
  readonly what: string
}

type Row = readonly [says: string, scene: string, sidecar: Headline['sidecar'], what: string]

const line = (...[says, scene, sidecar, what]: Row): Headline => ({ says, scene, sidecar, what })

const POD = 'The whole controller pod'
const ATTACHMENTS = 'Attachments at once, no limits given'
const IDLE = 'Idle, on an empty API'
const OPENED = '1,000 attachments at once, with raised limits'

/** The rows. The table first shows the rows in which this project is better, in this order, then the others. */
const HEADLINES: readonly Headline[] = [
  line('create, attach, expand, snapshot and delete 100 volumes', POD, 'pod', 'default flags, 100: the whole life (s)'),
  line('the same for 500 volumes, limits raised for both sides', POD, 'pod', 'raised limits, 500: the whole life (s)'),
  line('resident memory of all sidecars when idle', POD, 'pod', 'idle: RSS (MiB)'),
  line('anonymous memory of all sidecars when idle', POD, 'pod', 'idle: of it anonymous (MiB)'),
  line('resident memory of all with 20,000 objects of each kind', POD, 'pod', '20,000 objects of each kind: RSS (MiB)'),
  line('100 volumes to attach at once', ATTACHMENTS, 'attacher', '100: attached (s)'),
  line('100 claims to expand', 'Claims raised at once, no limits given', 'resizer', '100: resized (s)'),
  line(
    'from SIGTERM to the leading attacher until another one works',
    'Failover gap',
    'attacher',
    "SIGTERM to the next leader's first call (s)",
  ),
  line('resident memory of the attacher alone when idle', IDLE, 'attacher', 'RSS (MiB)'),
  line('anonymous memory of the attacher alone when idle', IDLE, 'attacher', 'of it anonymous (MiB)'),
  line('start of the attacher to its first watch', IDLE, 'attacher', 'exec to first watch (ms)'),
  line(
    'CPU for 1,000 volumes to attach, limits raised for both sides',
    OPENED,
    'attacher',
    'first wave: CPU per 1,000 attaches (s)',
  ),
]

/** The text of a row, the figure of this project and the figure of the Go sidecar, both with their unit. */
export type HeadlineFigures = readonly [says: string, ours: string, theirs: string]

export interface Headlines {
  readonly forUs: readonly HeadlineFigures[]
  readonly forTheOriginals: readonly HeadlineFigures[]
}

/** Returns the rows with their figures, split by the better implementation. The smaller figure is better. */
export function headlines(results = readFileSync(join(ROOT, 'testing/bench/RESULTS.md'), 'utf8')): Headlines {
  const rows = HEADLINES.map((one): HeadlineFigures => [one.says, ...figuresOf(results, one)])
  return { forUs: rows.filter(isForUs), forTheOriginals: rows.filter((row) => !isForUs(row)) }
}

export function headlineTable(): string {
  const { forUs, forTheOriginals } = headlines()
  return table(
    ['default flags, unless the row names others', 'csi-sidecars', 'originals'],
    [...forUs, ['**where the originals are ahead or equal**', '', ''], ...forTheOriginals],
  )
}

function isForUs([, ours, theirs]: HeadlineFigures): boolean {
  return Number.parseFloat(ours) < Number.parseFloat(theirs)
}

/** Returns the medians of this project and of the Go sidecar, with the unit. Throws if RESULTS.md lacks them. */
export function figuresOf(results: string, { scene, sidecar, what }: Omit<Headline, 'says'>): [string, string] {
  const section = results.split(/^### /m).find((text) => text.startsWith(scene)) ?? ''
  const cells = section
    .split('\n')
    .map((text) => text.split('|').map((cell) => cell.trim()))
    .find(([, first, second]) => first === sidecar && second === what)
  const [, , , ours, theirs] = cells ?? []
  if (ours === undefined || theirs === undefined) throw new Error(`testing/bench/RESULTS.md has no ${what} in ${scene}`)
  const unit = /\((\w+)\)$/.exec(what)?.[1] ?? ''
  const figure = (cell: string): string => `${cell.replace(/ \(.*/, '')} ${unit}`
  return [figure(ours), figure(theirs)]
}
