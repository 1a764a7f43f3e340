import { PERSISTENT_VOLUME_CLAIMS } from '@csi-sidecars/kube-types'
import { merged, OK, reported, together } from '../../rows/actions.ts'
import { asked, boundClaim, kubeletFinished, raised, resizerRows, started } from '../../rows/resizer/rows.ts'
import { NODE_STEP, PRE_RESIZE } from '../../rows/resizer/scene.ts'

/** Rows about claims whose earlier expansion has not ended. Most of them exist before the resizer starts. */

const row = resizerRows('decision', import.meta.filename)

interface FoundClaim {
  /** The size of the volume, in Gi. */
  readonly has: number
  /** The requested size, in Gi. */
  readonly asked: number
  /** The allocated size, in Gi. */
  readonly recorded?: number
  readonly word?: string
  readonly pending?: 'True' | 'False'
}

/** The sizes in the calls for these claims are in the trace. A claim without a line causes no call and no write. */
const CLAIMS: Readonly<Record<string, FoundClaim>> = {
  a1: { has: 1, asked: 2 },
  'a1-recorded': { has: 1, asked: 2, recorded: 3 },
  a2: { has: 1, asked: 2, recorded: 3, word: 'ControllerResizeInfeasible' },
  a3: { has: 1, asked: 2, recorded: 3, word: 'ControllerResizeInProgress' },
  'a3-bare': { has: 1, asked: 2, word: 'ControllerResizeInProgress' },
  'a4-pending': { has: 1, asked: 2, recorded: 3, word: 'NodeResizePending' },
  'a4-progress': { has: 1, asked: 2, recorded: 3, word: 'NodeResizeInProgress' },
  'a4-bare': { has: 1, asked: 2, word: 'NodeResizePending' },
  'a4-reached': { has: 2, asked: 3, recorded: 2, word: 'NodeResizePending' },
  a5: { has: 1, asked: 2, recorded: 3, word: 'NodeResizeInfeasible' },
  'a5-bare': { has: 1, asked: 2, word: 'NodeResizeInfeasible' },
  'b1-pending': { has: 2, asked: 2, recorded: 2, word: 'NodeResizePending' },
  'b1-progress': { has: 3, asked: 2, recorded: 2, word: 'NodeResizeInProgress' },
  b2: { has: 3, asked: 2, recorded: 3, word: 'NodeResizeInfeasible' },
  'b2-bare': { has: 3, asked: 2, word: 'NodeResizeInfeasible' },
  'b3-progress': { has: 3, asked: 2, recorded: 3, word: 'ControllerResizeInProgress' },
  'b3-infeasible': { has: 3, asked: 2, recorded: 3, word: 'ControllerResizeInfeasible' },
  'b3-bare': { has: 3, asked: 2, word: 'ControllerResizeInProgress' },
  b4: { has: 3, asked: 2, recorded: 3 },
  b5: { has: 2, asked: 2 },
  'b5-pending': { has: 2, asked: 2, pending: 'True' },
  'b5-not-pending': { has: 2, asked: 2, pending: 'False' },
}

/** Creates a claim and a volume with these sizes and this status. */
const found = (name: string, { has, asked: size, recorded, word, pending }: FoundClaim) =>
  boundClaim({
    suffix: `-${name}`,
    size: `${size}Gi`,
    volumeSize: `${has}Gi`,
    status: {
      capacity: { storage: '1Gi' },
      ...(recorded !== undefined && { allocatedResources: { storage: `${recorded}Gi` } }),
      ...(word !== undefined && { allocatedResourceStatuses: { storage: word } }),
      ...(pending !== undefined && { conditions: [{ type: 'FileSystemResizePending', status: pending }] }),
    },
  })

const HANGS = {
  startsLater: true,
  args: ['--workers=100', '--timeout=1h', '--kube-api-qps=1000', '--kube-api-burst=1000'],
  answers: { ControllerExpandVolume: ['hang'] },
} as const
row('a restarted resizer requests the right size for each combination of sizes and claim status', {
  anyOrder: true,
  setup: HANGS,
  logs: ['external-resizer may be running with older version of kubernetes api-server'],
  steps: [together('create claims', ...Object.entries(CLAIMS).map(([name, fields]) => found(name, fields))), started],
})
row('for a driver that expands only on nodes, a smaller request replaces the size that the kubelet has refused', {
  setup: { startsLater: true, controller: [], node: ['EXPAND_VOLUME'] },
  steps: [found('b2', { has: 3, asked: 2, recorded: 3, word: 'NodeResizeInfeasible' }), started],
})

const OLD_CONDITIONS = [
  { type: 'Foreign', status: 'True' },
  { type: 'FileSystemResizePending', status: 'False' },
  { type: 'ControllerResizeError', status: 'True', message: 'old' },
]
/** Creates a claim for 2Gi whose expansion to the recorded size has failed. */
const failedAt = (
  recorded: string,
  { suffix = '', word = 'ControllerResizeInfeasible', conditions = OLD_CONDITIONS },
) =>
  boundClaim({
    suffix,
    size: '2Gi',
    volumeSize: '1Gi',
    status: {
      capacity: { storage: '1Gi' },
      conditions,
      allocatedResources: { storage: recorded },
      allocatedResourceStatuses: { storage: word },
    },
  })
row('only an expansion to a new size removes the old resize conditions from the claim', {
  anyOrder: true,
  setup: HANGS,
  steps: [failedAt('3Gi', { suffix: '-new' }), failedAt('2Gi', { suffix: '-same' }), started],
})
row('a successful retry keeps ControllerResizeError if the kubelet must finish the expansion', {
  setup: { startsLater: true, answers: { ControllerExpandVolume: [NODE_STEP] } },
  steps: [failedAt('2Gi', { word: 'ControllerResizeInProgress', conditions: OLD_CONDITIONS.slice(2) }), started],
})

const ANNOTATED = { annotations: { [PRE_RESIZE]: '1Gi', other: 'kept' } }
// Alone, because the resizer of another test removes the annotation, too.
row('pre-resize-capacity is removed from a volume of any driver once claim and volume have the same size', {
  alone: 'cluster',
  setup: { startsLater: true },
  steps: [
    boundClaim({ pv: { metadata: ANNOTATED, csi: { driver: 'other.example.com' } } }),
    boundClaim({ suffix: '-larger', volumeSize: '2Gi', pv: { metadata: ANNOTATED } }),
    started,
  ],
})
row('pre-resize-capacity stays on a volume with AnnotateFsResize=false', {
  alone: 'cluster',
  setup: { args: ['--feature-gates=AnnotateFsResize=false'] },
  steps: [boundClaim({ pv: { metadata: ANNOTATED } })],
})
row('the resizer expands to a larger requested size only after the kubelet has finished the earlier expansion', {
  alone: 'cluster',
  setup: { answers: { ControllerExpandVolume: [NODE_STEP] } },
  steps: [raised(), asked('3Gi'), kubeletFinished('2Gi')],
})
row('changes of labels, annotations and conditions of a claim cause no call and no write', {
  setup: { answers: { ControllerExpandVolume: [OK] } },
  steps: [
    raised(),
    merged(PERSISTENT_VOLUME_CLAIMS, 'pvc', { metadata: { labels: { a: 'b' }, annotations: { c: 'd' } } }),
    reported(PERSISTENT_VOLUME_CLAIMS, 'pvc', { conditions: [{ type: 'Foreign', status: 'True' }] }),
  ],
})
