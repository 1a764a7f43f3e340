import { between, pick, type Random, scattered, seeded, type Timed, weighted } from '@csi-sidecars/disturb'
import { WRITE_FAULTS } from '../harness/api/write-faults.ts'
import type { TestedApp } from '../harness/subject.ts'
import type { CallOutcome } from '../model/back-end.ts'
import {
  ATTACHMENT_MOVES,
  type AttachmentMove,
  CLAIM_MOVES,
  type ClaimMove,
  PROVISION_MOVES,
  type ProvisionMove,
  SNAPSHOT_MOVES,
  type SnapshotMove,
} from '../model/moves.ts'
import type { Variant } from '../model/provisions.ts'

/** A step that injects a fault, with its duration or its number of occurrences. */
export type FaultStep = { readonly of: 'fault' } & (
  | { readonly kind: 'calls'; readonly method: string; readonly times: number; readonly outcome: CallOutcome }
  | { readonly kind: 'requests'; readonly resource: string; readonly way: string; readonly times: number }
  | { readonly kind: 'stale' | 'gap'; readonly resource: string; readonly forMs: number }
  | { readonly kind: 'cutWatches' }
  | { readonly kind: 'driverDown' | 'otherDriver'; readonly forMs: number }
  | { readonly kind: 'kill' | 'freeze'; readonly replica: number; readonly forMs: number }
  | { readonly kind: 'rollout'; readonly replica: number }
)

export type HistoryStep = AttachmentMove | ClaimMove | ProvisionMove | SnapshotMove | FaultStep

/**
 * A random sequence of changes and faults for some sidecars. The seed, the profile and `apps` determine it completely.
 */
export interface History {
  readonly seed: number
  /** The tested sidecars. Several run in one process. */
  readonly apps: readonly TestedApp[]
  readonly replicas: number
  /** True if the driver supports ListVolumes with published nodes. */
  readonly listing: boolean
  /** True if the provisioner runs with `--finalize-claims`. */
  readonly finalizes: boolean
  readonly variant: Variant
  readonly size: Size
  readonly steps: readonly Timed<HistoryStep>[]
}

/** The numbers of objects of a history. */
export interface Size {
  readonly volumes: number
  readonly nodes: number
  readonly claims: number
}

const MIN_STEPS = 20
const MAX_STEPS = 60
const SMALL: Size = { volumes: 4, nodes: 2, claims: 3 }

/** The size of a history: `small`, or `storm` with many objects and 1,000 steps in a minute. */
export type Profile = 'small' | 'storm'
const STORM: Size = { volumes: 160, nodes: 4, claims: 200 }
const STORM_MS = 60_000
const STORM_STEPS = 1_000
/** The gRPC codes of injected errors: InvalidArgument, DeadlineExceeded, NotFound, Aborted, Internal, Unavailable. */
const CODES = [3, 4, 5, 10, 13, 14] as const
/** After this code, a provisioner with `--node-deployment` gives the claim to another node. */
const RESOURCE_EXHAUSTED = 8

interface Subject {
  readonly moves: Readonly<Record<string, number>>
  readonly methods: readonly string[]
  readonly watched: readonly string[]
  readonly written: readonly string[]
  /** The gRPC codes of injected errors. Default: `CODES`. */
  readonly codes?: readonly number[]
}

/** The weights of the actions on the objects of each sidecar, and the calls, watches and writes that can fail. */
export const SUBJECTS: Readonly<Record<TestedApp, Subject>> = {
  attacher: {
    moves: {
      ...{ toggle: 40, move: 14, again: 7, volumeAgain: 5, volumeLate: 6, foreign: 8, foreignOnVolume: 5 },
      ...{ note: 5, strip: 4, stripVolume: 4, unset: 5, lose: 12, nodeAgain: 4 },
    } satisfies Record<AttachmentMove['kind'], number>,
    methods: ['ControllerPublishVolume', 'ControllerPublishVolume', 'ControllerUnpublishVolume'],
    watched: ['volumeattachments', 'volumeattachments', 'persistentvolumes'],
    written: ['volumeattachments', 'volumeattachments/status', 'persistentvolumes'],
  },
  resizer: {
    moves: {
      ...{ grow: 30, lower: 14, modify: 20, again: 8, flag: 4, paper: 7, clear: 5 },
      ...{ foreign: 4, foreignOnVolume: 4, note: 6 },
    } satisfies Record<ClaimMove['kind'], number>,
    methods: ['ControllerExpandVolume', 'ControllerExpandVolume', 'ControllerModifyVolume'],
    watched: ['persistentvolumeclaims', 'persistentvolumeclaims', 'persistentvolumes'],
    written: ['persistentvolumeclaims/status', 'persistentvolumeclaims/status', 'persistentvolumes'],
  },
  provisioner: {
    moves: {
      ...{ toggle: 40, again: 14, restore: 16, classAgain: 4, unready: 4, ready: 6 },
      ...{ inputsAgain: 8, loseInputs: 4, policy: 6, strip: 6 },
    } satisfies Record<ProvisionMove['kind'], number>,
    methods: ['CreateVolume', 'CreateVolume', 'DeleteVolume'],
    watched: ['persistentvolumeclaims', 'persistentvolumes'],
    written: ['persistentvolumes', 'persistentvolumes', 'persistentvolumeclaims', 'volumesnapshots'],
  },
  snapshotter: {
    moves: {
      ...{ toggle: 24, again: 14, strip: 12, adopt: 8, policy: 8, keep: 6, keepInTwo: 6, retain: 4, retainUnseen: 4 },
      ...{ loseInputs: 4, inputs: 8, inputsAgain: 6, ready: 6, foreign: 6, note: 5 },
    } satisfies Record<SnapshotMove['kind'], number>,
    methods: ['CreateSnapshot', 'CreateSnapshot', 'DeleteSnapshot', 'ListSnapshots', 'CreateVolumeGroupSnapshot'],
    watched: ['volumesnapshotcontents', 'volumesnapshotcontents', 'volumegroupsnapshotcontents'],
    written: ['volumesnapshotcontents', 'volumesnapshotcontents/status', 'volumegroupsnapshotcontents'],
  },
}

/** Like the subject `provisioner`. With `--node-deployment`, it also asks for the capacity. */
const ON_NODE: Subject = {
  ...SUBJECTS.provisioner,
  methods: ['CreateVolume', 'CreateVolume', 'DeleteVolume', 'GetCapacity'],
  codes: [...CODES, RESOURCE_EXHAUSTED],
}

/** Generates a history of these sidecars from the seed alone. */
export function historyOf(seed: number, profile: Profile, apps: readonly TestedApp[]): History {
  const random = seeded(seed, 'history')
  const replicas = random() < 0.25 ? 2 : 1
  const listing = apps.includes('attacher') && random() < 0.4
  const finalizes = apps.includes('provisioner') && random() < 0.7
  const variant = variantOf(seed, apps, replicas)
  const history = { seed, apps, replicas, listing, finalizes, variant }
  if (profile === 'storm') {
    const steps = Array.from({ length: STORM_STEPS }, () => stepOf(random, { ...history, size: STORM }))
    return { ...history, size: STORM, steps: scattered(random, STORM_MS, steps) }
  }
  const count = between(random, MIN_STEPS, MAX_STEPS)
  const steps = Array.from({ length: count }, () => ({
    afterMs: pauseOf(random),
    step: stepOf(random, { ...history, size: SMALL }),
  }))
  return { ...history, size: SMALL, steps }
}

/** Chooses the variant by random numbers of its own, so that the steps of a seed do not depend on it. */
function variantOf(seed: number, apps: readonly TestedApp[], replicas: number): Variant {
  if (apps.join() !== 'provisioner') return 'usual'
  const drawn = seeded(seed, 'variant')()
  if (drawn < 0.15) return 'migrated'
  return drawn < 0.35 && replicas === 1 ? 'node' : 'usual'
}

/** Returns the pause before a step. It is mostly too short for the previous step to take effect. */
function pauseOf(random: Random): number {
  const most = pick(random, [60, 60, 60, 60, 60, 400, 400, 400, 400, 1200])
  return between(random, 1, most)
}

function stepOf(random: Random, history: Omit<History, 'steps'>): HistoryStep {
  const { apps, size, replicas, variant } = history
  const app = (apps.length > 1 ? pick(random, apps) : apps[0]) ?? 'attacher'
  const subject = variant === 'node' ? ON_NODE : SUBJECTS[app]
  if (random() < 0.7) return moveOf(random, app, size)
  const forMs = between(random, 50, 1500)
  const replica = between(random, 0, replicas - 1)
  const fault = (step: Omit<FaultStep, 'of'>, weight: number) => ({
    weight,
    make: () => ({ of: 'fault', ...step }) as FaultStep,
  })
  const resource = pick(random, subject.watched) ?? ''
  const step = weighted<HistoryStep>(random, [
    { weight: 40, make: () => callsOf(random, subject) },
    { weight: 25, make: () => requestsOf(random, subject) },
    fault({ kind: 'stale', resource, forMs } as FaultStep, 14),
    fault({ kind: 'gap', resource, forMs } as FaultStep, app === 'snapshotter' ? 8 : 0),
    fault({ kind: 'cutWatches' }, 4),
    fault({ kind: 'driverDown', forMs } as FaultStep, 4),
    fault({ kind: 'otherDriver', forMs } as FaultStep, 2),
    fault({ kind: 'kill', replica, forMs } as FaultStep, 8),
    fault({ kind: 'freeze', replica, forMs: (replicas > 1 ? 8 : 2) * forMs } as FaultStep, 3),
    fault({ kind: 'rollout', replica } as FaultStep, replicas > 1 ? 8 : 1),
  ])
  return step ?? moveOf(random, app, size)
}

function moveOf(random: Random, app: TestedApp, { volumes, nodes, claims }: Size): HistoryStep {
  const choices = Object.entries(SUBJECTS[app].moves).map(([name, weight]) => ({ weight, make: () => name }))
  const name = weighted(random, choices) ?? ''
  const index = between(random, 0, (app === 'attacher' || app === 'snapshotter' ? volumes : claims) - 1)
  switch (app) {
    case 'attacher':
      return { of: 'attachment', kind: name as AttachmentMove['kind'], index, node: between(random, 0, nodes - 1) }
    case 'resizer':
      return { of: 'claim', kind: name as ClaimMove['kind'], index, amount: between(random, 1, 3) }
    case 'provisioner':
      return { of: 'provision', kind: name as ProvisionMove['kind'], index }
    case 'snapshotter':
      return { of: 'snapshot', kind: name as SnapshotMove['kind'], index }
  }
}

function callsOf(random: Random, { methods, codes = CODES }: Subject): FaultStep {
  const method = pick(random, methods) ?? ''
  const ends: CallOutcome['ends'] = pick(random, ['well', 'well', 'never', ...codes])
  const outcome = { ms: between(random, 1, 600), applies: ends === 'well' || random() < 0.5, ends } as const
  return { of: 'fault', kind: 'calls', method, times: between(random, 1, 3), outcome }
}

function requestsOf(random: Random, { written }: Subject): FaultStep {
  const way = pick(random, Object.keys(WRITE_FAULTS)) ?? ''
  return { of: 'fault', kind: 'requests', resource: pick(random, written) ?? '', way, times: between(random, 1, 2) }
}

/** Describes a step in two columns: its object and its action. */
export function textOf(step: HistoryStep): readonly [string, string] {
  switch (step.of) {
    case 'attachment':
      return [`volume ${step.index}, node ${step.node}`, `${step.kind}: ${ATTACHMENT_MOVES[step.kind]}`]
    case 'provision':
      return [`claim ${step.index}`, `${step.kind}: ${PROVISION_MOVES[step.kind]}`]
    case 'snapshot':
      return [`content ${step.index}`, `${step.kind}: ${SNAPSHOT_MOVES[step.kind]}`]
    case 'claim':
      return [`claim ${step.index}`, `${step.kind} ${step.amount}: ${CLAIM_MOVES[step.kind]}`]
    case 'fault': {
      const { of: _, kind, ...rest } = step
      return ['fault', `${kind} ${JSON.stringify(rest)}`]
    }
  }
}
