import { describe, expect, it } from '@jest/globals'
import { DRIVER } from '../testing/objects.ts'
import type { ActualVolume } from './actual-state.ts'
import { decideMount, type MountStep, type MountView } from './decide.ts'
import type { DesiredVolume, MountSource, PodMount } from './desired-state.ts'

type Csi = Extract<MountSource, { kind: 'csi' }>

const csi = (change: Partial<Csi> = {}): Csi => ({
  kind: 'csi',
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

const LOCAL: MountSource = { kind: 'local', volumeName: 'l', name: 'cache', plugin: 'emptyDir' }

const podMount = (podUid: string, readOnly = false): PodMount => ({
  podUid,
  podKey: `default/${podUid}`,
  namespace: 'default',
  podName: podUid,
  serviceAccount: 'default',
  readOnly,
  fsGroup: undefined,
})

const desiredVolume = (source: MountSource = csi(), ...pods: readonly PodMount[]): DesiredVolume => ({
  source,
  capacity: '1Gi',
  pods: new Map((pods.length > 0 ? pods : [podMount('a')]).map((pod) => [pod.podUid, pod])),
})

const present = (change: Partial<ActualVolume> = {}): ActualVolume => ({
  source: csi(),
  attached: true,
  publishContext: {},
  device: { kind: 'mounted', path: '/stage' },
  pods: new Map([['a', { kind: 'mounted', path: '/a' }]]),
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
    if (step.kind === 'unpublish') return `unpublish ${step.podUid}`
    return 'pod' in step ? `${step.kind} ${step.pod.podUid}` : step.kind
  })

const NONE: ActualVolume['pods'] = new Map()

describe('mounts', () => {
  const rows: { name: string; view: Partial<MountView>; steps: string[] }[] = [
    {
      name: 'first becomes part of the in-use list of the node',
      view: { desired: desiredVolume(), reported: 'no', isSaidAttached: false },
      steps: ['reportInUse'],
    },
    {
      name: 'becomes part of the in-use list again if the stored list is unknown',
      view: { desired: desiredVolume(), reported: 'perhaps' },
      steps: ['reportInUse', 'verifyAttached', 'stage', 'publish a'],
    },
    {
      name: 'waits until the volume is attached',
      view: { desired: desiredVolume(), isSaidAttached: false },
      steps: [],
    },
    {
      name: 'needs a check of the attachment after it becomes part of the in-use list',
      view: { desired: desiredVolume(), reported: 'no' },
      steps: ['reportInUse', 'verifyAttached', 'stage', 'publish a'],
    },
    {
      name: 'gets one stage call, and one publish call for each pod',
      view: { desired: desiredVolume(csi(), podMount('a'), podMount('b')) },
      steps: ['verifyAttached', 'stage', 'publish a', 'publish b'],
    },
    {
      name: 'gets no stage call if the driver does not stage',
      view: { desired: desiredVolume(), canStage: false },
      steps: ['verifyAttached', 'publish a'],
    },
    {
      name: 'gets no second stage call for a second pod',
      view: { desired: desiredVolume(csi(), podMount('a'), podMount('b')), actual: present() },
      steps: ['publish b'],
    },
    {
      name: 'gets another publish call if its content may have changed',
      view: { desired: desiredVolume(), actual: present({ stale: new Set(['a']) }) },
      steps: ['publish a'],
    },
    {
      name: 'needs no step when it is mounted',
      view: { desired: desiredVolume(), actual: present() },
      steps: [],
    },
    {
      name: 'gets the mount calls again if their last results are unknown',
      view: {
        desired: desiredVolume(),
        actual: present({
          device: { kind: 'uncertain', path: '/stage' },
          pods: new Map([['a', { kind: 'uncertain', path: '/a' }]]),
        }),
      },
      steps: ['stage', 'publish a'],
    },
    {
      name: 'needs a check of the attachment if it was mounted before a restart',
      view: {
        desired: desiredVolume(),
        actual: present({ attached: false, device: { kind: 'uncertain', path: '/stage' }, pods: NONE }),
      },
      steps: ['verifyAttached', 'stage', 'publish a'],
    },
    {
      name: 'needs no check of the attachment if the driver needs no attach',
      view: { desired: desiredVolume(csi({ attach: false })), reported: 'no', isSaidAttached: false },
      steps: ['admit', 'stage', 'publish a'],
    },
    {
      name: 'needs no check of the attachment without a CSI driver',
      view: { desired: desiredVolume(LOCAL), reported: 'no', isSaidAttached: false },
      steps: ['admit', 'publish a'],
    },
    {
      name: 'grows after its mount',
      view: { desired: desiredVolume(), actual: present(), hasGrown: true },
      steps: ['expand a'],
    },
    {
      name: 'grows in the same plan in which it is mounted',
      view: { desired: desiredVolume(), hasGrown: true },
      steps: ['verifyAttached', 'stage', 'publish a', 'expand a'],
    },
    {
      name: 'grows through a pod that may write',
      view: {
        desired: desiredVolume(csi(), podMount('a', true), podMount('b')),
        actual: present({ pods: new Map(['a', 'b'].map((uid) => [uid, { kind: 'mounted', path: uid }])) }),
        hasGrown: true,
      },
      steps: ['expand b'],
    },
    {
      name: 'does not grow while all pods use it read-only',
      view: { desired: desiredVolume(csi(), podMount('a', true)), actual: present(), hasGrown: true },
      steps: [],
    },
  ]
  it.each(rows)("a pod's volume $name", (row) => {
    expect(summary(decideMount(view(row.view)))).toEqual(row.steps)
  })
})

describe('unmounts', () => {
  const rows: { name: string; view: Partial<MountView>; steps: string[] }[] = [
    {
      name: 'leaves the in-use list only after its unmount',
      view: { actual: present() },
      steps: ['unpublish a', 'unstage', 'release'],
    },
    {
      name: 'stays staged for other pods',
      view: {
        desired: desiredVolume(csi(), podMount('b')),
        actual: present({ pods: new Map(['a', 'b'].map((uid) => [uid, { kind: 'mounted', path: uid }])) }),
      },
      steps: ['unpublish a'],
    },
    {
      name: 'leaves the old pod before it is published to the new pod',
      view: { desired: desiredVolume(csi(), podMount('b')), actual: present() },
      steps: ['unpublish a', 'publish b'],
    },
    {
      name: 'gets the unmount calls even if the mount was never confirmed',
      view: {
        actual: present({
          device: { kind: 'uncertain', path: '/stage' },
          pods: new Map([['a', { kind: 'uncertain', path: '/a' }]]),
        }),
      },
      steps: ['unpublish a', 'unstage', 'release'],
    },
    { name: 'leaves the in-use list if it was never mounted', view: {}, steps: ['release'] },
    { name: 'needs no step if nothing of it is left', view: { reported: 'no' }, steps: [] },
    { name: 'leaves the in-use list if the stored list is unknown', view: { reported: 'perhaps' }, steps: ['release'] },
  ]
  it.each(rows)('a volume without a pod $name', (row) => {
    expect(summary(decideMount(view(row.view)))).toEqual(row.steps)
  })
})

describe('single-pod volumes', () => {
  const single = csi({ accessModes: ['ReadWriteOncePod'] })

  it('a ReadWriteOncePod volume is refused to a second pod on the node while the first pod uses it', () => {
    const desired = desiredVolume(single, podMount('a'), podMount('b'))
    const actual = present({ source: single })
    expect(decideMount(view({ desired, actual }))).toEqual([
      {
        kind: 'refuse',
        source: single,
        pod: podMount('b'),
        message: 'volume uses the ReadWriteOncePod access mode and is already in use by another pod',
      },
    ])
  })

  it('if two pods arrive at once, only one of them gets a ReadWriteOncePod volume', () => {
    const desired = desiredVolume(single, podMount('a'), podMount('b'))
    expect(summary(decideMount(view({ desired })))).toEqual(['verifyAttached', 'stage', 'publish a', 'refuse b'])
  })

  it('a ReadWriteOncePod volume is published to the second pod after the first pod has ended', () => {
    const desired = desiredVolume(single, podMount('b'))
    expect(summary(decideMount(view({ desired, actual: present({ source: single }) })))).toEqual([
      'unpublish a',
      'publish b',
    ])
  })
})
