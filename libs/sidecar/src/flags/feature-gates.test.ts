import { describe, expect, test } from '@jest/globals'
import { type GateTable, GENERIC_GATES, knownGatesText, RELEASE_ON_EXIT, resolveGates } from './feature-gates.ts'

/** The gates of two apps. Only the resizer has a permanent gate. */
const ATTACHER_GATES = {
  sidecarGates: {
    MutableCSINodeAllocatableCount: { stage: 'ga', default: true },
    ReleaseLeaderElectionOnExit: RELEASE_ON_EXIT,
  },
  permanent: {},
} as const satisfies GateTable
const RESIZER_GATES = {
  sidecarGates: {
    AnnotateFsResize: { stage: 'beta', default: true },
    ReleaseLeaderElectionOnExit: RELEASE_ON_EXIT,
    VolumeAttributesClass: { stage: 'ga', default: true },
  },
  permanent: { RecoverVolumeExpansionFailure: true },
} as const satisfies GateTable

const asked = (text: string): Map<string, boolean> =>
  new Map(
    text
      .split(',')
      .filter((item) => item !== '')
      .map((item): [string, boolean] => [item.split('=')[0] ?? '', item.endsWith('=true')]),
  )

function gates<N extends string>(table: GateTable<N>, text: string) {
  const result = resolveGates(table, asked(text))
  if (result.kind !== 'gates') throw new Error(result.error)
  return result.gates
}

describe('validation', () => {
  test.each([
    [ATTACHER_GATES, 'X=true', 'unrecognized feature gate: X'],
    [ATTACHER_GATES, 'VolumeAttributesClass=true', 'unrecognized feature gate: VolumeAttributesClass'],
    [ATTACHER_GATES, 'AnnotateFsResize=false', 'unrecognized feature gate: AnnotateFsResize'],
    [ATTACHER_GATES, 'RecoverVolumeExpansionFailure=true', 'unrecognized feature gate: RecoverVolumeExpansionFailure'],
    [RESIZER_GATES, 'MutableCSINodeAllocatableCount=true', 'unrecognized feature gate: MutableCSINodeAllocatableCount'],
    [RESIZER_GATES, 'Topology=true', 'unrecognized feature gate: Topology'],
    [RESIZER_GATES, 'LoggingAlphaOptions=true', 'unrecognized feature gate: LoggingAlphaOptions'],
    [RESIZER_GATES, 'ContextualLogging=true', 'unrecognized feature gate: ContextualLogging'],
    [RESIZER_GATES, 'toString=true', 'unrecognized feature gate: toString'],
    [
      ATTACHER_GATES,
      'DeclarativeValidation=false',
      'cannot set feature gate DeclarativeValidation to false, feature is locked to true',
    ],
    [
      ATTACHER_GATES,
      'SeparateCacheWatchRPC=true',
      'cannot set feature gate SeparateCacheWatchRPC to true, feature is locked to false',
    ],
    [ATTACHER_GATES, 'A=true,B=false', '[unrecognized feature gate: A, unrecognized feature gate: B]'],
  ])('invalid feature gates (case %#) are refused with the error of Kubernetes', (table: GateTable, text, error) => {
    expect(resolveGates(table, asked(text))).toEqual({ kind: 'refused', error })
  })
})

describe('accepted gates', () => {
  test.each(
    Object.entries(GENERIC_GATES)
      .filter(([, gate]) => gate.locked !== true)
      .flatMap(([name]) => [`${name}=true`, `${name}=false`]),
  )('the command line may contain the feature gate %s', (text) => {
    expect(resolveGates(ATTACHER_GATES, asked(text)).kind).toBe('gates')
  })

  const GA = 'Warning: setting GA feature gate. It will be removed in a future release.'
  const DEPRECATED = 'Warning: setting deprecated feature gate. It will be removed in a future release.'

  test.each([
    [ATTACHER_GATES, 'MutableCSINodeAllocatableCount=false', [GA]],
    [RESIZER_GATES, 'VolumeAttributesClass=true', [GA]],
    [RESIZER_GATES, 'AnnotateFsResize=false', []],
    [RESIZER_GATES, 'RecoverVolumeExpansionFailure=true', ['Ignoring feature gate that is always on']],
    [
      RESIZER_GATES,
      'RecoverVolumeExpansionFailure=false',
      ['Warning: turning off this feature gate has no effect, it is always on'],
    ],
    [RESIZER_GATES, 'KMSv1=true', [DEPRECATED]],
    [RESIZER_GATES, 'AggregatedDiscoveryRemoveBetaType=true', [DEPRECATED]],
    [ATTACHER_GATES, 'AllAlpha=true,WatchList=false', []],
  ])('valid feature gates (case %#) get the notices of Kubernetes', (table: GateTable, text, messages) => {
    const result = resolveGates(table, asked(text))
    const [[featureGate, value] = []] = asked(text)
    expect(result.kind === 'gates' && result.notices).toEqual(
      messages.map((message) => ({ message, pairs: { featureGate, value } })),
    )
  })
})

describe('settings', () => {
  test.each([
    ['', true, true],
    ['ReleaseLeaderElectionOnExit=false', false, true],
    ['AllAlpha=true', true, true],
    ['AllAlpha=false', true, true],
    ['AllBeta=false', false, false],
    ['AllBeta=false,AnnotateFsResize=true', false, true],
    ['ReleaseLeaderElectionOnExit=true,AllBeta=false', true, false],
  ])('the gates %j set ReleaseLeaderElectionOnExit to %s and AnnotateFsResize to %s', (text, release, annotate) => {
    const set = gates(RESIZER_GATES, text)
    expect([set.isEnabled('ReleaseLeaderElectionOnExit'), set.isEnabled('AnnotateFsResize')]).toEqual([
      release,
      annotate,
    ])
  })

  test('a feature gate in the stage GA can be switched off, and AllBeta does not change it', () => {
    expect(gates(RESIZER_GATES, 'VolumeAttributesClass=false').isEnabled('VolumeAttributesClass')).toBe(false)
    expect(gates(RESIZER_GATES, 'AllBeta=false').isEnabled('VolumeAttributesClass')).toBe(true)
  })

  test('a changed default of a feature gate applies only if the command line does not set the gate', () => {
    const absent = (text: string) => gates(RESIZER_GATES, text).withDefault('VolumeAttributesClass', false)
    expect(absent('').isEnabled('VolumeAttributesClass')).toBe(false)
    expect(absent('VolumeAttributesClass=true').isEnabled('VolumeAttributesClass')).toBe(true)
    expect(absent('').isEnabled('AnnotateFsResize')).toBe(true)
  })

  test('a feature gate counts as set explicitly if the command line names it, but not if AllBeta sets it', () => {
    const set = gates(RESIZER_GATES, 'AllBeta=true,VolumeAttributesClass=true')
    expect([set.isExplicit('VolumeAttributesClass'), set.isExplicit('AnnotateFsResize')]).toEqual([true, false])
  })
})

test('the usage lists only the gates that have an effect', () => {
  expect(knownGatesText(RESIZER_GATES)).toBe(
    [
      'AnnotateFsResize=true|false (BETA - default=true)',
      'ReleaseLeaderElectionOnExit=true|false (BETA - default=true)',
      'VolumeAttributesClass=true|false (GA - default=true)',
    ].join('\n'),
  )
})
