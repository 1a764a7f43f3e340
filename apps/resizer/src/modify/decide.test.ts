import { describe, expect, it } from '@jest/globals'
import { projectClaim } from '../caches/claim.ts'
import { projectClass } from '../caches/open.ts'
import { volumeProjection } from '../caches/volume.ts'
import { attributesClass, type ClaimFields, claim, DRIVER, type VolumeFields, volume } from '../testing/builders.ts'
import { decideModify, isClassAtRest, type ModifyStep } from './decide.ts'
import type { ModifyView } from './observe.ts'

interface Row {
  readonly want?: string
  readonly current?: string
  /** Status and target of the modification in the status of the claim. */
  readonly modifyVolumeStatus?: readonly [status: string, target?: string]
  readonly conditions?: readonly string[]
  readonly claim?: ClaimFields
  readonly volume?: VolumeFields | 'missing'
  readonly uncertain?: boolean
  readonly isRetriedRarely?: boolean
  readonly reportedClass?: string
  readonly nodeDeployment?: boolean
  /** The steps that `decideModify` must return, without their patches. */
  readonly steps: readonly object[]
}

const noop = (why: string) => ({ kind: 'noop', why })
const start = (className: string) => ({ kind: 'start', className })
const modify = (target: string) => ({ kind: 'modify', target })
const onClass = (name: string) => ({ kind: 'class', name })
const FOREIGN = projectClass({ ...attributesClass('foreign'), driverName: 'other.example.com' })
const REPORT = { kind: 'reportDriver', target: FOREIGN, volumeDriver: DRIVER }
const NO_NEED = noop('No need to modify PVC')
const ROLLED_BACK = noop('stop reconcile for rolled back PVC')

/** The test cases. The VolumeAttributesClasses gold, silver and foreign exist; bronze does not. */
const rows: Record<string, Row> = {
  'a claim without a volume needs no work': {
    claim: { name: '' },
    steps: [noop('PV bound to PVC is not created yet')],
  },
  'a claim waits for a volume that is not cached': {
    want: 'gold',
    volume: 'missing',
    steps: [
      {
        kind: 'fail',
        message: 'Get PV "pv-data" of pvc "ns/data" in PVInformer cache failed: persistentvolume "pv-data" not found',
        waitsFor: { kind: 'volume', name: 'pv-data' },
      },
    ],
  },
  'with --node-deployment, a volume that is not cached belongs to another node': {
    want: 'gold',
    volume: 'missing',
    nodeDeployment: true,
    steps: [{ kind: 'noop', why: 'The PV is not of this node', waitsFor: { kind: 'volume', name: 'pv-data' } }],
  },
  "another driver's volume is ignored": {
    want: 'gold',
    volume: { driver: 'other' },
    steps: [noop('Skipping PV provisioned by different driver')],
  },
  'an unbound claim needs no work': {
    want: 'gold',
    claim: { status: { phase: 'Lost' } },
    steps: [noop('No need to modify PV')],
  },
  'an infeasible request is not repeated at once': {
    want: 'gold',
    modifyVolumeStatus: ['Infeasible', 'gold'],
    isRetriedRarely: true,
    steps: [{ kind: 'skip' }],
  },
  'a different class than the infeasible class is tried at once': {
    want: 'silver',
    modifyVolumeStatus: ['Infeasible', 'gold'],
    isRetriedRarely: true,
    steps: [{ kind: 'forgetRefusal' }, start('silver'), modify('silver')],
  },
  'a withdrawn request ends the pause of an infeasible request': {
    modifyVolumeStatus: ['Infeasible', 'gold'],
    isRetriedRarely: true,
    steps: [{ kind: 'forgetRefusal' }, ROLLED_BACK],
  },
  'a finished modification ends the pause of an infeasible request': {
    want: 'gold',
    current: 'gold',
    isRetriedRarely: true,
    steps: [{ kind: 'forgetRefusal' }, NO_NEED],
  },
  'a claim with its requested class needs no work': { want: 'gold', current: 'gold', steps: [NO_NEED] },
  'a claim without any class needs no work': { steps: [NO_NEED] },
  'a withdrawn request removes the condition': {
    modifyVolumeStatus: ['Infeasible', 'gold'],
    conditions: ['ModifyingVolume', 'ModifyVolumeError'],
    steps: [{ kind: 'cancel' }],
  },
  'a withdrawn request without the condition changes nothing': {
    modifyVolumeStatus: ['Pending'],
    conditions: ['ModifyVolumeError'],
    steps: [ROLLED_BACK],
  },
  'a withdrawn request for a claim that has a class changes nothing': { current: 'gold', steps: [ROLLED_BACK] },
  'a modification that may be running continues, whatever class the claim requests': {
    want: 'silver',
    modifyVolumeStatus: ['InProgress', 'gold'],
    uncertain: true,
    steps: [modify('gold')],
  },
  'a begun modification continues when the claim requests no class': {
    modifyVolumeStatus: ['InProgress', 'gold'],
    steps: [modify('gold')],
  },
  'a modification that may be running waits for its missing class': {
    modifyVolumeStatus: ['InProgress', 'bronze'],
    steps: [
      {
        kind: 'stall',
        className: 'bronze',
        message:
          'get VAC with vac name bronze in VACInformer cache failed: ' +
          'volumeattributesclass.storage.k8s.io "bronze" not found',
        waitsFor: onClass('bronze'),
      },
    ],
  },
  'an infeasible modification lets the requested class begin': {
    want: 'silver',
    modifyVolumeStatus: ['Infeasible', 'gold'],
    uncertain: true,
    steps: [start('silver'), modify('silver')],
  },
  'a claim waits for a missing class': {
    want: 'bronze',
    steps: [{ kind: 'pend', className: 'bronze', waitsFor: onClass('bronze') }],
  },
  'a modification begins for a requested class': { want: 'gold', steps: [start('gold'), modify('gold')] },
  'a modification back to the current class begins after an infeasible class': {
    want: 'gold',
    current: 'gold',
    modifyVolumeStatus: ['Infeasible', 'silver'],
    steps: [start('gold'), modify('gold')],
  },
  'a modification begins for a class that was missing before': {
    want: 'gold',
    modifyVolumeStatus: ['Pending'],
    steps: [start('gold'), modify('gold')],
  },
  'a modification that has failed for good begins again': {
    want: 'gold',
    modifyVolumeStatus: ['InProgress', 'gold'],
    steps: [start('gold'), modify('gold')],
  },
  'a class of another driver is reported and applied': {
    want: 'foreign',
    steps: [REPORT, start('foreign'), modify('foreign')],
  },
  'a class of another driver is reported once': {
    want: 'foreign',
    reportedClass: 'uid-foreign',
    steps: [start('foreign'), modify('foreign')],
  },
  'a class of another driver is reported when a new leader continues the modification': {
    want: 'gold',
    modifyVolumeStatus: ['InProgress', 'foreign'],
    uncertain: true,
    steps: [REPORT, modify('foreign')],
  },
}

describe('decideModify', () => {
  it.each(Object.entries(rows))('`decideModify` returns the steps of the table for %s', (_name, row) => {
    expect(decideModify(viewOf(row)).map(withoutPatch)).toEqual(row.steps)
  })

  it('`isClassAtRest` is true only for claims that need no work', () => {
    const resting = Object.values(rows).filter((row) => isClassAtRest(viewOf(row).claim, viewOf(row).volume))
    expect(resting.map(({ steps }) => steps)).toContainEqual([NO_NEED])
    const kinds = resting.flatMap(({ steps }) => steps.map((step) => 'kind' in step && step.kind))
    expect(new Set(kinds).isSubsetOf(new Set(['noop', 'forgetRefusal']))).toBe(true)
  })

  it('`decideModify` writes the status Pending only if the claim does not have it yet', () => {
    const [first] = decideModify(viewOf({ want: 'bronze', modifyVolumeStatus: ['Pending', 'gold'], steps: [] }))
    expect(first).toMatchObject({ kind: 'pend', patch: undefined })
    const [other] = decideModify(viewOf({ want: 'bronze', modifyVolumeStatus: ['Infeasible', 'gold'], steps: [] }))
    expect(other).toMatchObject({ patch: { body: { status: { modifyVolumeStatus: { status: 'Pending' } } } } })
  })
})

function viewOf(row: Row): ModifyView {
  const { want, current, modifyVolumeStatus, conditions, claim: fields, reportedClass } = row
  const { uncertain = false, isRetriedRarely = false, nodeDeployment = false } = row
  const [status, target] = modifyVolumeStatus ?? []
  const pvc = claim({
    ...(want !== undefined && { wantedClass: want }),
    ...fields,
    status: {
      ...(current !== undefined && { currentVolumeAttributesClassName: current }),
      ...(status !== undefined && {
        modifyVolumeStatus: { status, ...(target !== undefined && { targetVolumeAttributesClassName: target }) },
      }),
      ...(conditions && { conditions: conditions.map((type) => ({ type, status: 'True' })) }),
      ...fields?.status,
    },
  })
  const isBound = fields?.name !== ''
  const classes = new Map(['gold', 'silver'].map((name) => [name, projectClass(attributesClass(name))]))
  classes.set('foreign', FOREIGN)
  return {
    claim: projectClaim(isBound ? pvc : { ...pvc, spec: { ...pvc.spec, volumeName: undefined } }),
    volume: row.volume === 'missing' ? undefined : volumeProjection(DRIVER)(volume(row.volume)),
    classOf: (name) => classes.get(name),
    uncertain,
    isRetriedRarely,
    isClassReported: ({ uid }) => uid === reportedClass,
    nodeDeployment,
    now: 0,
  }
}

function withoutPatch(step: ModifyStep): object {
  if (step.kind === 'modify') return { kind: step.kind, target: step.target.key }
  if ('patch' in step) {
    const { patch: _, ...others } = step
    return others
  }
  return step
}
