import { describe, expect, it } from '@jest/globals'
import { DRIVER } from '../testing/objects.ts'
import type { ActualVolume } from './actual-state.ts'
import { decideMount, type MountStep, type MountView } from './decide.ts'
import type { DesiredVolume, MountSource, PodMount } from './desired-state.ts'

type Csi = Extract<MountSource, { is: 'csi' }>

const csi = (change: Partial<Csi> = {}): Csi => ({
  is: 'csi',
  volumeName: 'v',
  name: 'pv-1',
  csi: { driver: DRIVER, volumeHandle: 'h' },
  accessModes: ['ReadWriteOnce'],
  mountOptions: [],
  block: false,
  attach: true,
  claim: 'default/data',
  ...change,
})

const LOCAL: MountSource = { is: 'local', volumeName: 'l', name: 'cache', plugin: 'emptyDir' }

const podMount = (podUid: string, readOnly = false): PodMount => ({
  podUid,
  podKey: `default/${podUid}`,
  namespace: 'default',
  podName: podUid,
  serviceAccount: 'default',
  readOnly,
  fsGroup: undefined,
})

const wanted = (source: MountSource = csi(), ...pods: readonly PodMount[]): DesiredVolume => ({
  source,
  capacity: '1Gi',
  pods: new Map((pods.length > 0 ? pods : [podMount('a')]).map((pod) => [pod.podUid, pod])),
})

const present = (change: Partial<ActualVolume> = {}): ActualVolume => ({
  source: csi(),
  attached: true,
  publishContext: {},
  device: { is: 'mounted', path: '/stage' },
  pods: new Map([['a', { is: 'mounted', path: '/a' }]]),
  stale: new Set(),
  claimSize: undefined,
  expansion: 'open',
  ...change,
})

const view = (change: Partial<MountView>): MountView => ({
  desired: undefined,
  actual: undefined,
  reported: 'yes',
  isSaidAttached: true,
  canStage: true,
  hasGrown: false,
  ...change,
})

const summary = (steps: readonly MountStep[]): string[] =>
  steps.map((step) => {
    if (step.do === 'unpublish') return `unpublish ${step.podUid}`
    return 'pod' in step ? `${step.do} ${step.pod.podUid}` : step.do
  })

const NONE: ActualVolume['pods'] = new Map()

describe('a volume that a pod wants', () => {
  const rows: { name: string; view: Partial<MountView>; steps: string[] }[] = [
    {
      name: 'is said to be in use before anything else',
      view: { desired: wanted(), reported: 'no', isSaidAttached: false },
      steps: ['reportInUse'],
    },
    {
      name: 'is reported in use once more where the state of the status is unknown',
      view: { desired: wanted(), reported: 'perhaps' },
      steps: ['reportInUse', 'verifyAttached', 'stage', 'publish a'],
    },
    {
      name: 'is waited for until it is attached',
      view: { desired: wanted(), isSaidAttached: false },
      steps: [],
    },
    {
      name: 'is looked at again after it was said to be in use, however attached it seems',
      view: { desired: wanted(), reported: 'no' },
      steps: ['reportInUse', 'verifyAttached', 'stage', 'publish a'],
    },
    {
      name: 'is staged once and published to each pod',
      view: { desired: wanted(csi(), podMount('a'), podMount('b')) },
      steps: ['verifyAttached', 'stage', 'publish a', 'publish b'],
    },
    {
      name: 'is published without a stage where the driver has none',
      view: { desired: wanted(), canStage: false },
      steps: ['verifyAttached', 'publish a'],
    },
    {
      name: 'is published to a second pod without another stage',
      view: { desired: wanted(csi(), podMount('a'), podMount('b')), actual: present() },
      steps: ['publish b'],
    },
    {
      name: 'is published once more when what it shows may have changed',
      view: { desired: wanted(), actual: present({ stale: new Set(['a']) }) },
      steps: ['publish a'],
    },
    {
      name: 'needs nothing once it is mounted',
      view: { desired: wanted(), actual: present() },
      steps: [],
    },
    {
      name: 'is mounted again where the result of the last call is unknown',
      view: {
        desired: wanted(),
        actual: present({
          device: { is: 'uncertain', path: '/stage' },
          pods: new Map([['a', { is: 'uncertain', path: '/a' }]]),
        }),
      },
      steps: ['stage', 'publish a'],
    },
    {
      name: 'found on the disk after a restart is looked at as a new one',
      view: {
        desired: wanted(),
        actual: present({ attached: false, device: { is: 'uncertain', path: '/stage' }, pods: NONE }),
      },
      steps: ['verifyAttached', 'stage', 'publish a'],
    },
    {
      name: 'of a driver without attach is mounted at once',
      view: { desired: wanted(csi({ attach: false })), reported: 'no', isSaidAttached: false },
      steps: ['admit', 'stage', 'publish a'],
    },
    {
      name: "that is not CSI's is mounted at once",
      view: { desired: wanted(LOCAL), reported: 'no', isSaidAttached: false },
      steps: ['admit', 'publish a'],
    },
    {
      name: 'is expanded once it is mounted',
      view: { desired: wanted(), actual: present(), hasGrown: true },
      steps: ['expand a'],
    },
    {
      name: 'is expanded right after its mount',
      view: { desired: wanted(), hasGrown: true },
      steps: ['verifyAttached', 'stage', 'publish a', 'expand a'],
    },
    {
      name: 'is expanded by way of a pod that may write',
      view: {
        desired: wanted(csi(), podMount('a', true), podMount('b')),
        actual: present({ pods: new Map(['a', 'b'].map((uid) => [uid, { is: 'mounted', path: uid }])) }),
        hasGrown: true,
      },
      steps: ['expand b'],
    },
    {
      name: 'is not expanded while it is only read',
      view: { desired: wanted(csi(), podMount('a', true)), actual: present(), hasGrown: true },
      steps: [],
    },
  ]
  it.each(rows)('$name', (row) => {
    expect(summary(decideMount(view(row.view)))).toEqual(row.steps)
  })
})

describe('a volume that a pod has given up', () => {
  const rows: { name: string; view: Partial<MountView>; steps: string[] }[] = [
    {
      name: 'is unmounted, and free to be detached only then',
      view: { actual: present() },
      steps: ['unpublish a', 'unstage', 'release'],
    },
    {
      name: 'stays staged for the others',
      view: {
        desired: wanted(csi(), podMount('b')),
        actual: present({ pods: new Map(['a', 'b'].map((uid) => [uid, { is: 'mounted', path: uid }])) }),
      },
      steps: ['unpublish a'],
    },
    {
      name: 'leaves one pod before it comes to the next',
      view: { desired: wanted(csi(), podMount('b')), actual: present() },
      steps: ['unpublish a', 'publish b'],
    },
    {
      name: 'is unmounted also where the mount was never confirmed',
      view: {
        actual: present({
          device: { is: 'uncertain', path: '/stage' },
          pods: new Map([['a', { is: 'uncertain', path: '/a' }]]),
        }),
      },
      steps: ['unpublish a', 'unstage', 'release'],
    },
    { name: 'before it was ever mounted is no longer said to be in use', view: {}, steps: ['release'] },
    { name: 'and of which nothing is left needs nothing', view: { reported: 'no' }, steps: [] },
    { name: 'and which the status may list is removed from it', view: { reported: 'perhaps' }, steps: ['release'] },
  ]
  it.each(rows)('$name', (row) => {
    expect(summary(decideMount(view(row.view)))).toEqual(row.steps)
  })
})

describe('a volume for one pod', () => {
  const single = csi({ accessModes: ['ReadWriteOncePod'] })

  it('refuses a second pod on the node while the first pod uses the volume', () => {
    const desired = wanted(single, podMount('a'), podMount('b'))
    const actual = present({ source: single })
    expect(decideMount(view({ desired, actual }))).toEqual([
      {
        do: 'refuse',
        source: single,
        pod: podMount('b'),
        message: 'volume uses the ReadWriteOncePod access mode and is already in use by another pod',
      },
    ])
  })

  it('publishes to one pod only if two pods arrive at once', () => {
    const desired = wanted(single, podMount('a'), podMount('b'))
    expect(summary(decideMount(view({ desired })))).toEqual(['verifyAttached', 'stage', 'publish a', 'refuse b'])
  })

  it('publishes to the second pod after the first pod has ended', () => {
    const desired = wanted(single, podMount('b'))
    expect(summary(decideMount(view({ desired, actual: present({ source: single }) })))).toEqual([
      'unpublish a',
      'publish b',
    ])
  })
})
