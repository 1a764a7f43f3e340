import type { PersistentVolume } from '@csi-sidecars/kube-types'
import { describe, expect, it } from '@jest/globals'
import { projectClaim } from '../caches/claim.ts'
import { volumeProjection } from '../caches/volume.ts'
import { type ClaimFields, claim, DRIVER, type VolumeFields, volume } from '../testing/builders.ts'
import { decideResize, isSizeAtRest, type ResizeStep, sizeToExpandTo } from './decide.ts'
import type { ResizeSettings, ResizeView } from './observe.ts'

interface Row {
  readonly claim?: ClaimFields
  readonly volume?: VolumeFields | 'missing'
  readonly view?: Partial<ResizeView>
  readonly settings?: Partial<ResizeSettings>
  /** The steps that `decideResize` must return, without their patches. */
  readonly steps: readonly object[]
}

const PRE_RESIZE = 'volume.alpha.kubernetes.io/pre-resize-capacity'
const RESIZER = 'volume.kubernetes.io/storage-resizer'
const EBS = 'ebs.csi.aws.com'

const noop = (why: string, rule?: string) => ({ kind: 'noop', why, ...(rule && { rule }) })
const condition = (type: string, status: string) => ({ type, status })
const NO_NEED = noop('No need to resize PVC')
const NOT_OURS = noop("Resizer doesn't support PV")
const NODES_TURN = 'Waiting for the node to expand the volume'
const start = (target: string, rule: string) => ({ kind: 'start', target, rule })
const reject = (message: string) => ({ kind: 'reject', message, waitsFor: { kind: 'volume', name: 'pv-data' } })
const raised: ClaimFields = { request: '2Gi' }
const infeasible: ClaimFields = { request: '2Gi', allocated: '2Gi', sizeStatus: 'ControllerResizeInfeasible' }
const onEbs = { settings: { driverName: EBS } }
const ebsVolume: PersistentVolume['spec'] = { csi: undefined, awsElasticBlockStore: { volumeID: 'vol-1' } }

const rows: Record<string, Row> = {
  'a claim with the requested size needs no work': { steps: [NO_NEED] },
  'equal sizes in different notations are equal': { claim: { request: '1024Mi' }, steps: [NO_NEED] },
  'a claim without a volume needs no work': {
    claim: { ...raised, name: '' },
    view: { claim: projectClaim({ metadata: { name: 'data', namespace: 'ns' }, spec: {} }) },
    steps: [noop('PV bound to PVC is not created yet')],
  },
  'a claim waits for a volume that is not cached': {
    claim: raised,
    volume: 'missing',
    steps: [
      {
        kind: 'fail',
        message: 'PV "pv-data" bound to pvc "ns/data" not found',
        waitsFor: { kind: 'volume', name: 'pv-data' },
      },
    ],
  },
  'with --node-deployment, a volume that is not cached belongs to another node': {
    claim: raised,
    volume: 'missing',
    settings: { nodeDeployment: true },
    steps: [{ kind: 'noop', why: 'The PV is not of this node', waitsFor: { kind: 'volume', name: 'pv-data' } }],
  },
  'an unbound claim needs no work': {
    claim: { ...raised, status: { phase: 'Lost' } },
    steps: [NO_NEED],
  },
  'a claim that requests less than its capacity needs no work': { claim: { request: '512Mi' }, steps: [NO_NEED] },
  "another driver's volume is ignored": {
    claim: raised,
    volume: { driver: 'other.example.com' },
    steps: [NOT_OURS],
  },
  'an in-tree volume is ignored if the driver replaces no in-tree plugin': {
    claim: { ...raised, annotations: { [RESIZER]: DRIVER } },
    volume: { spec: ebsVolume },
    steps: [NOT_OURS],
  },
  'an in-tree volume is ignored until its claim names the driver': {
    ...onEbs,
    claim: { ...raised, annotations: { [RESIZER]: 'kubernetes.io/aws-ebs' } },
    volume: { spec: ebsVolume },
    steps: [NOT_OURS],
  },
  'an in-tree volume whose claim names the migrated driver is expanded': {
    ...onEbs,
    claim: { ...raised, annotations: { [RESIZER]: EBS } },
    volume: { spec: ebsVolume },
    steps: [start('2Gi', 'expandToRequest')],
  },
  'a migrated driver expands its CSI volumes whatever the claim says': {
    ...onEbs,
    claim: { ...raised, annotations: { [RESIZER]: 'kubernetes.io/aws-ebs' } },
    volume: { driver: EBS },
    steps: [start('2Gi', 'expandToRequest')],
  },
  'a volume that is bound to no claim is refused': {
    claim: raised,
    volume: { spec: { claimRef: undefined } },
    steps: [reject('PersistentVolume "pv-data" is not bound to a claim')],
  },
  "a volume that is bound to another namespace's claim is refused": {
    claim: raised,
    volume: { spec: { claimRef: { namespace: 'other', name: 'data', uid: 'uid-data' } } },
    steps: [reject('PersistentVolume "pv-data" is bound to another claim, "other/data"')],
  },
  'a volume that is bound to an earlier claim of the name is refused': {
    claim: raised,
    volume: { uid: 'earlier' },
    steps: [reject('PersistentVolume "pv-data" is bound to another claim of this name, with uid earlier')],
  },
  'a volume whose claimRef has the UID but another name is expanded': {
    claim: raised,
    volume: { spec: { claimRef: { namespace: 'ns', name: 'renamed', uid: 'uid-data' } } },
    steps: [start('2Gi', 'expandToRequest')],
  },
  'a claim without a status is refused': {
    claim: { ...raised, capacity: null, status: { phase: undefined } },
    steps: [reject('the claim has no status')],
  },
  'an invalid request is refused': {
    claim: { request: '2Kk' },
    steps: [reject(`spec.resources.requests.storage of the claim is "2Kk": unable to parse quantity's suffix`)],
  },
  'a negative capacity is refused': {
    claim: { ...raised, capacity: '-1Gi' },
    steps: [reject('status.capacity.storage of the claim is -1Gi, which is less than nothing')],
  },
  'an invalid capacity of the volume is refused': {
    claim: raised,
    volume: { capacity: 'much' },
    steps: [
      reject(
        'spec.capacity.storage of PersistentVolume pv-data is "much": quantities must match the regular expression ' +
          `'^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'`,
      ),
    ],
  },
  'an invalid allocated size is refused': {
    claim: { ...raised, allocated: '2Kk' },
    steps: [reject(`status.allocatedResources.storage of the claim is "2Kk": unable to parse quantity's suffix`)],
  },
  'a request of 8E is accepted': {
    claim: { request: '8E' },
    steps: [start('8E', 'expandToRequest')],
  },
  'a request that exceeds an int64 is refused': {
    claim: { request: '10E' },
    steps: [reject('10E is more than a CSI driver can be asked for')],
  },
  'the request replaces an expansion to the invalid size 0': {
    claim: { ...raised, allocated: '0', sizeStatus: 'ControllerResizeInProgress' },
    steps: [start('2Gi', 'resumeExpansion')],
  },
  'the request replaces an expansion to a size that exceeds an int64': {
    claim: { ...raised, allocated: '10E', sizeStatus: 'ControllerResizeInProgress' },
    steps: [start('2Gi', 'resumeExpansion')],
  },
  "invalid sizes of another driver's claim are ignored": {
    claim: { request: '2Kk' },
    volume: { driver: 'other.example.com' },
    steps: [NOT_OURS],
  },
  'a bound claim without a capacity is expanded': {
    claim: { request: '1Gi', capacity: null },
    steps: [start('1Gi', 'expandUnlessNodePending')],
  },
  'the kubelet finishes the expansion if FileSystemResizePending is True, even without a size status': {
    claim: {
      request: '2Gi',
      status: { conditions: [condition('Resizing', 'True'), condition('FileSystemResizePending', 'True')] },
    },
    volume: { capacity: '2Gi' },
    steps: [noop(NODES_TURN, 'expandUnlessNodePending')],
  },
  'the driver is called if FileSystemResizePending is False and there is no size status': {
    claim: {
      request: '2Gi',
      status: { conditions: [condition('Resizing', 'True'), condition('FileSystemResizePending', 'False')] },
    },
    volume: { capacity: '2Gi' },
    steps: [start('2Gi', 'expandUnlessNodePending')],
  },
  'a request of one byte more than an int64 is refused': {
    claim: { request: '9223372036854775808' },
    steps: [reject('9223372036854775808 is more than a CSI driver can be asked for')],
  },
  'a request of the largest int64 is accepted': {
    claim: { request: '9223372036854775807' },
    steps: [start('9223372036854775807', 'expandToRequest')],
  },
  "the annotation with the old size is removed from an expanded volume, also from another driver's": {
    claim: { request: '2Gi', capacity: '2Gi' },
    volume: { capacity: '2Gi', driver: 'other.example.com', annotations: { [PRE_RESIZE]: '1Gi' } },
    steps: [{ kind: 'dropPreResize' }, NO_NEED],
  },
  'the annotation with the old size is removed from the volume of an unbound claim too': {
    claim: { request: '2Gi', capacity: '2Gi', status: { phase: 'Lost' } },
    volume: { capacity: '2Gi', annotations: { [PRE_RESIZE]: '1Gi' } },
    steps: [{ kind: 'dropPreResize' }, NO_NEED],
  },
  'the annotation with the old size is removed before the next expansion begins': {
    claim: { request: '3Gi', capacity: '2Gi', allocated: '2Gi' },
    volume: { capacity: '2Gi', annotations: { [PRE_RESIZE]: '1Gi' } },
    steps: [{ kind: 'dropPreResize' }, start('3Gi', 'expandToRequest')],
  },
  'the annotation with the old size stays while the kubelet has work': {
    claim: { request: '2Gi', allocated: '2Gi', sizeStatus: 'NodeResizePending' },
    volume: { capacity: '2Gi', annotations: { [PRE_RESIZE]: '1Gi' } },
    steps: [noop(NODES_TURN, 'awaitNode')],
  },
  'the annotation with the old size stays if the feature gate is off': {
    claim: { request: '2Gi', capacity: '2Gi' },
    volume: { capacity: '2Gi', annotations: { [PRE_RESIZE]: '1Gi' } },
    settings: { annotateFsResize: false },
    steps: [NO_NEED],
  },
  'a larger request after an infeasible request is tried at once': {
    claim: { ...infeasible, request: '3Gi' },
    view: { nextTryInMs: 1000 },
    steps: [{ kind: 'backOff' }, start('3Gi', 'replaceRefusedSize')],
  },
  'an infeasible request of an earlier process is tried once, and delayed after that': {
    claim: infeasible,
    steps: [{ kind: 'backOff' }, start('2Gi', 'replaceRefusedSize')],
  },
  'an infeasible request is not repeated before its pause ends': {
    claim: infeasible,
    view: { nextTryInMs: 1000 },
    steps: [{ kind: 'backOff' }, { kind: 'postpone', ms: 1000 }],
  },
  'the pause of an infeasible request does not delay another request': {
    claim: { request: '2Gi', allocated: '3Gi', sizeStatus: 'ControllerResizeInProgress' },
    view: { nextTryInMs: 1000, finallyFailed: true },
    steps: [start('2Gi', 'resumeExpansion')],
  },
  'a smaller request waits while an expansion may be running': {
    claim: { request: '2Gi', allocated: '3Gi', sizeStatus: 'ControllerResizeInProgress' },
    steps: [start('3Gi', 'resumeExpansion')],
  },
  'a larger request waits while the kubelet finishes an expansion': {
    claim: { request: '3Gi', allocated: '2Gi', sizeStatus: 'NodeResizeInProgress' },
    volume: { capacity: '2Gi' },
    steps: [noop(NODES_TURN, 'awaitNodeBeforeRequest')],
  },
}

describe('decideResize', () => {
  it.each(Object.entries(rows))('`decideResize` returns the steps of this case: %s', (_name, row) => {
    expect(decideResize(viewOf(row)).map(withoutPatch)).toEqual(row.steps)
    const last: { kind?: string; target?: string } = row.steps.at(-1) ?? {}
    expect(sizeToExpandTo(viewOf(row))?.toString()).toBe(last.kind === 'start' ? last.target : undefined)
  })

  it('`isSizeAtRest` is true only for claims that need no work', () => {
    const resting = Object.entries(rows).filter(([, row]) => {
      const { claim, volume, settings } = viewOf(row)
      return isSizeAtRest(claim, volume, settings.driverName)
    })
    expect(resting.map(([name]) => name)).toContain('a claim with the requested size needs no work')
    for (const [, { steps }] of resting) expect(steps).toEqual([expect.objectContaining({ kind: 'noop' })])
  })

  it('`isSizeAtRest` is false for a migrated volume whose fields the cache has dropped', () => {
    const { claim, volume } = viewOf({ claim: { annotations: { [RESIZER]: EBS } }, volume: { driver: 'x' }, steps: [] })
    expect(isSizeAtRest(claim, volume, EBS)).toBe(false)
    expect(isSizeAtRest(claim, volume, DRIVER)).toBe(true)
  })

  it('`isSizeAtRest` is false while the volume of a claim is not cached', () => {
    const { claim } = viewOf({ steps: [] })
    expect(isSizeAtRest(claim, undefined, DRIVER)).toBe(false)
  })

  it('the first patch of an expansion sets the status ControllerResizeInProgress only for a new size', () => {
    const marks = ['1536Mi', '2Gi'].map((allocated) => {
      const step = decideResize(viewOf({ claim: { ...infeasible, allocated }, steps: [] })).at(-1)
      return step?.kind === 'start' && JSON.stringify(step.patch).includes('ControllerResizeInProgress')
    })
    expect(marks).toEqual([true, false])
  })

  it('the first patch of an expansion keeps status and conditions if the size was tried before', () => {
    const conditions = [{ type: 'ControllerResizeError', status: 'True' }]
    const again = viewOf({ claim: { ...infeasible, status: { conditions } }, steps: [] })
    expect(decideResize(again).at(-1)).toMatchObject({
      patch: {
        body: {
          status: {
            '$setElementOrder/conditions': [{ type: 'ControllerResizeError' }, { type: 'Resizing' }],
            conditions: [{ type: 'Resizing' }],
          },
        },
      },
    })
  })
})

function viewOf({ claim: claimParts, volume: volumeParts, view, settings }: Row): ResizeView {
  const all: ResizeSettings = {
    driverName: DRIVER,
    driverExpands: true,
    annotateFsResize: true,
    nodeDeployment: false,
    ...settings,
  }
  const project = volumeProjection(all.driverName)
  return {
    claim: projectClaim(claim(claimParts)),
    volume: volumeParts === 'missing' ? undefined : project(volume(volumeParts)),
    finallyFailed: false,
    nextTryInMs: undefined,
    settings: all,
    now: 0,
    ...view,
  }
}

function withoutPatch(step: ResizeStep): object {
  if (step.kind === 'dropPreResize') return { kind: step.kind }
  if (step.kind !== 'start') return step
  const { patch: _, target, ...others } = step
  return { ...others, target: target.toString() }
}
