import { describe, expect, it } from '@jest/globals'
import type { ProvisionerClaim } from '../caches/claim.ts'
import type { Class } from '../caches/cluster.ts'
import { MIGRATED_TO, SELECTED_NODE, STORAGE_PROVISIONER } from '../caches/names.ts'
import type { ProvisionerVolume } from '../caches/volume.ts'
import { type ClaimView, type DecisionSettings, decideClaim, isOurs, mayLoseNode } from './decide.ts'

const DRIVER = 'driver.example.com'
const FINALIZER = 'external-provisioner/driver-example-com'
const SETTINGS: DecisionSettings = {
  names: { driver: DRIVER, inTree: undefined },
  claimFinalizer: FINALIZER,
  finalizeClaims: false,
  node: undefined,
}
const NODE = {
  name: 'node-1',
  segments: { zone: 'a' },
  immediateBinding: true,
  baseDelayMs: 1,
  maxDelayMs: 2,
  rescheduleAfterMs: 3,
} as NonNullable<DecisionSettings['node']>
const CLASS = { key: 'class', uid: 'class-uid', provisioner: DRIVER, waitsForConsumer: false } as Class

interface State extends Partial<Omit<ClaimView, 'claim' | 'settings'>> {
  readonly annotations?: Readonly<Record<string, string>>
  readonly claim?: Partial<ProvisionerClaim>
  readonly settings?: Partial<DecisionSettings>
}

function view({ annotations = {}, claim, settings, ...rest }: State): ClaimView {
  return {
    claim: {
      key: 'ns/claim',
      uid: 'uid',
      resourceVersion: '1',
      volumeName: '',
      phase: 'Pending',
      deleting: false,
      finalizers: undefined,
      size: '1Gi',
      classField: 'class',
      requestedVolume: {
        labels: '',
        annotations: { [STORAGE_PROVISIONER]: DRIVER, ...annotations },
        accessModes: ['ReadWriteOnce'],
        volumeMode: undefined,
        dataSource: undefined,
        dataSourceRef: undefined,
        hasSelector: false,
        attributesClass: '',
      },
      ...claim,
    },
    class: CLASS,
    volumeName: 'pvc-uid',
    existingVolume: undefined,
    isCallUncertain: false,
    isCreationFinished: false,
    hasUnsavedVolume: false,
    pausedForMs: 0,
    allowsNode: true,
    settings: { ...SETTINGS, ...settings },
    ...rest,
  }
}

/** Returns the kinds of the steps in their order. */
function decided(state: State): readonly string[] {
  return decideClaim(view(state)).map(({ kind }) => kind)
}

const WITH_FINALIZER = { finalizers: [FINALIZER] }
const OWN_VOLUME = { key: 'pvc-uid', claimUid: 'uid' } as ProvisionerVolume
const FOREIGN_VOLUME = { key: 'pvc-uid', claimUid: 'other' } as ProvisionerVolume
const LATE = { ...CLASS, waitsForConsumer: true }

describe('decideClaim', () => {
  it.each<[string, State, string]>([
    ['without a volume', {}, 'provision'],
    ['whose PersistentVolume exists', { existingVolume: OWN_VOLUME }, 'nothing'],
    [
      'whose PersistentVolume exists, with our finalizer',
      { existingVolume: OWN_VOLUME, claim: WITH_FINALIZER },
      'release',
    ],
    ['whose PersistentVolume belongs to another claim', { existingVolume: FOREIGN_VOLUME }, 'fail'],
    ['whose PersistentVolume is being stored', { hasUnsavedVolume: true, claim: WITH_FINALIZER }, 'nothing'],
    ['without a class', { class: undefined }, 'fail'],
    ['of another provisioner', { annotations: { [STORAGE_PROVISIONER]: 'other' } }, 'nothing'],
    [
      'of another provisioner, with our finalizer',
      { annotations: { [STORAGE_PROVISIONER]: 'x' }, claim: WITH_FINALIZER },
      'release',
    ],
    ['whose class has another provisioner', { class: { ...CLASS, provisioner: 'other' } }, 'nothing'],
    ['that waits for a consumer', { class: LATE }, 'nothing'],
    ['with a selected node', { class: LATE, annotations: { [SELECTED_NODE]: 'n' } }, 'provision'],
    ['that is infeasible', { pausedForMs: 5 }, 'pause'],
    ['that is bound', { claim: { volumeName: 'v' } }, 'nothing'],
    [
      'that is bound to its volume, with our finalizer',
      { claim: { volumeName: 'pvc-uid', ...WITH_FINALIZER } },
      'release',
    ],
    [
      'that is bound to another volume, with our finalizer',
      { claim: { volumeName: 'v', ...WITH_FINALIZER } },
      'provision',
    ],
    ['that is deleted, with our finalizer', { claim: { deleting: true, ...WITH_FINALIZER } }, 'provision'],
    [
      'that is deleted, with our finalizer, after the end of its creation',
      { claim: { deleting: true, ...WITH_FINALIZER }, isCreationFinished: true },
      'release',
    ],
    [
      'that is bound to another volume, with our finalizer, after the end of its creation',
      { claim: { volumeName: 'v', ...WITH_FINALIZER }, isCreationFinished: true },
      'release',
    ],
    [
      'that is deleted, with our finalizer, whose class has another provisioner',
      { claim: { deleting: true, ...WITH_FINALIZER }, class: { ...CLASS, provisioner: 'other' } },
      'fail',
    ],
  ])('`decideClaim` chooses the next step of a claim %s', (_state, state, decision) => {
    expect(decided(state)).toEqual([decision])
  })

  it.each<[string, State]>([
    ['is bound', { claim: { volumeName: 'v' } }],
    ['waits for a consumer again', { class: LATE }],
    ['is deleted', { claim: { deleting: true } }],
    ['has another provisioner', { annotations: { [STORAGE_PROVISIONER]: 'other' } }],
  ])('`decideClaim` continues a creation in progress although the claim %s', (_state, state) => {
    expect(decided({ ...state, isCallUncertain: true })).toEqual(['provision'])
  })
})

describe('the steps of `decideClaim`', () => {
  const forClass = { waitsFor: { kind: 'class', name: 'class' } }
  const forVolume = { waitsFor: { kind: 'volume', name: 'pvc-uid' } }
  const foreignClass = { class: { ...CLASS, provisioner: 'other' } }
  const onNodes = { settings: { node: NODE } }
  const nameInUse = 'the PersistentVolume pvc-uid has the name of the volume and belongs to another claim'

  it.each<[string, State, object]>([
    [
      'whose PersistentVolume is being stored',
      { hasUnsavedVolume: true },
      { kind: 'nothing', why: 'its PersistentVolume is being stored', ...forVolume },
    ],
    ['that waits for a consumer', { class: LATE }, { kind: 'nothing', why: 'no node is selected', ...forClass }],
    ['with a foreign class', foreignClass, { kind: 'nothing', why: 'the class has another provisioner', ...forClass }],
    [
      'that waits for a consumer, with --node-deployment',
      { ...onNodes, class: LATE },
      { kind: 'nothing', why: 'no node is selected', ...forClass },
    ],
    [
      'whose class excludes the node of this process',
      { ...onNodes, allowsNode: false },
      { kind: 'nothing', why: 'the class does not allow this node', ...forClass },
    ],
  ])('a claim %s waits for an event', (_name, state, step) => {
    expect(decideClaim(view(state))).toEqual([step])
  })

  it.each<[string, State, object]>([
    [
      'whose PersistentVolume belongs to another claim',
      { existingVolume: FOREIGN_VOLUME },
      { message: nameInUse, ...forVolume, report: true },
    ],
    [
      'without a class',
      { class: undefined },
      { message: 'storageClass "class" not found', ...forClass, report: false },
    ],
    [
      'without a class, with our finalizer',
      { class: undefined, claim: WITH_FINALIZER },
      { message: 'storageClass "class" not found', ...forClass, report: true },
    ],
    [
      'with a foreign class, during a call',
      { ...foreignClass, isCallUncertain: true },
      { message: 'storageClass "class" has another provisioner', ...forClass, report: false },
    ],
    [
      'with a foreign class, during a call, with our finalizer',
      { ...foreignClass, isCallUncertain: true, claim: WITH_FINALIZER },
      { message: 'storageClass "class" has another provisioner', ...forClass, report: true },
    ],
  ])('a claim %s fails with a message and waits for an event', (_name, state, failure) => {
    expect(decideClaim(view(state))).toEqual([{ kind: 'fail', ...failure }])
  })

  it.each<[string, State, string]>([
    ['whose PersistentVolume exists', { existingVolume: OWN_VOLUME }, 'its PersistentVolume exists'],
    ['that is bound', { claim: { volumeName: 'v' } }, 'it has a volume'],
    [
      'of another provisioner',
      { annotations: { [STORAGE_PROVISIONER]: 'other' } },
      'another provisioner is responsible',
    ],
    ['of another node', { ...onNodes, annotations: { [SELECTED_NODE]: 'node-2' } }, 'another node is selected'],
    [
      'that is deleted, with --finalize-claims',
      { claim: { deleting: true }, settings: { finalizeClaims: true } },
      'it is being deleted',
    ],
  ])('the reason to do nothing names the state of a claim %s', (_name, state, why) => {
    expect(decideClaim(view(state))).toEqual([{ kind: 'nothing', why }])
  })

  it('the reason to remove our finalizer is the end of the creation', () => {
    const state = { claim: { deleting: true, ...WITH_FINALIZER }, isCreationFinished: true }
    expect(decideClaim(view(state))).toEqual([{ kind: 'release', why: 'its creation has ended' }])
  })

  it('a claim that the driver has refused as infeasible pauses for the remaining time', () => {
    expect(decideClaim(view({ pausedForMs: 5 }))).toEqual([{ kind: 'pause', ms: 5 }])
  })
})

describe('--finalize-claims', () => {
  const settings = { finalizeClaims: true }

  it('with --finalize-claims, a claim gets the finalizer before the first CSI call', () => {
    expect(decideClaim(view({ settings }))).toMatchObject([{ kind: 'provision', mustAddFinalizer: true }])
    expect(decideClaim(view({ settings, claim: WITH_FINALIZER }))).toMatchObject([
      { kind: 'provision', mustAddFinalizer: false },
    ])
  })

  it.each<[string, State]>([
    ['without --finalize-claims', {}],
    ['that is being deleted during a call', { settings, claim: { deleting: true }, isCallUncertain: true }],
  ])('a claim %s gets no finalizer before CreateVolume', (_state, state) => {
    expect(decideClaim(view(state))).toMatchObject([{ kind: 'provision', mustAddFinalizer: false }])
  })

  it('with --finalize-claims, no volume is created for a deleted claim without the finalizer', () => {
    expect(decided({ settings, claim: { deleting: true } })).toEqual(['nothing'])
  })
})

describe('--node-deployment', () => {
  const settings = { node: NODE }

  it.each<[string, State, string]>([
    ['without a node', {}, 'selectNode'],
    ['without a node, if its class excludes the node of this process', { allowsNode: false }, 'nothing'],
    ['without a node, if it waits for a consumer', { class: LATE }, 'nothing'],
    [
      'without a node, without --node-deployment-immediate-binding',
      { settings: { node: { ...NODE, immediateBinding: false } } },
      'nothing',
    ],
    ['of this node', { annotations: { [SELECTED_NODE]: 'node-1' } }, 'provision'],
    [
      'of this node, although its class excludes it',
      { annotations: { [SELECTED_NODE]: 'node-1' }, allowsNode: false },
      'provision',
    ],
    ['of another node', { annotations: { [SELECTED_NODE]: 'node-2' } }, 'nothing'],
    ['without a node, if its class is missing', { class: undefined }, 'fail'],
    ['without a node, with --finalize-claims', { settings: { node: NODE, finalizeClaims: true } }, 'selectNode'],
    [
      'of another node, deleted with the finalizer',
      { annotations: { [SELECTED_NODE]: 'node-2' }, claim: { deleting: true, ...WITH_FINALIZER } },
      'nothing',
    ],
  ])('with --node-deployment, `decideClaim` chooses the next step of a claim %s', (_state, state, decision) => {
    expect(decided({ settings, ...state })).toEqual([decision])
  })

  const elsewhere = { [SELECTED_NODE]: 'node-2' }
  const finalizing = { node: NODE, finalizeClaims: true }

  it('with --finalize-claims, `decideClaim` checks the other node of a claim', () => {
    const decision = { kind: 'checkNode', node: 'node-2', afterMs: 3 }
    for (const state of [{}, { class: LATE }]) {
      expect(decideClaim(view({ settings: finalizing, annotations: elsewhere, ...state }))).toEqual([decision])
    }
  })

  it.each<[string, State]>([
    ['without --finalize-claims', { settings }],
    [
      'if --node-deployment-reschedule-after is 0',
      { settings: { ...finalizing, node: { ...NODE, rescheduleAfterMs: 0 } } },
    ],
    ['if the claim has the finalizer', { claim: WITH_FINALIZER }],
    ['if the claim is being deleted', { claim: { deleting: true } }],
    ['if the claim is bound', { claim: { volumeName: 'v' } }],
    ['if the claim is lost', { claim: { phase: 'Lost' } }],
    ['if another provisioner is responsible', { annotations: { ...elsewhere, [STORAGE_PROVISIONER]: 'other' } }],
    ['if the class is missing', { class: undefined }],
    ['if the class has another provisioner', { class: { ...CLASS, provisioner: 'other' } }],
    ['if the PersistentVolume exists', { existingVolume: OWN_VOLUME }],
  ])('`decideClaim` does not check the other node of a claim %s', (_condition, state) => {
    const kinds = decided({ settings: finalizing, annotations: elsewhere, ...state })
    expect([['nothing'], ['release']]).toContainEqual(kinds)
  })

  it.each(['dataSource', 'dataSourceRef'])(
    '`decideClaim` does not check the other node of a claim whose %s is for a volume populator',
    (field) => {
      const source = { apiGroup: 'example.com', kind: 'Image', name: 'a' }
      const { claim } = view({ annotations: elsewhere })
      const requestedVolume = claim.requestedVolume && { ...claim.requestedVolume, [field]: source }
      const steps = decideClaim({
        ...view({ settings: finalizing }),
        claim: { ...claim, requestedVolume },
      })
      expect(steps.map(({ kind }) => kind)).toEqual(['nothing'])
    },
  )
})

describe('mayLoseNode', () => {
  const settings = { ...SETTINGS, finalizeClaims: true }

  it.each<[string, State, boolean]>([
    ['without a volume may lose its node', {}, true],
    ['with a volume keeps its node', { claim: { volumeName: 'v' } }, false],
  ])('a pending claim %s', (_state, state, expected) => {
    expect(mayLoseNode(view(state).claim, settings)).toBe(expected)
  })
})

describe('isOurs', () => {
  const names = { driver: DRIVER, inTree: 'kubernetes.io/disk' }

  it.each<[string, Readonly<Record<string, string>>, boolean]>([
    ['a claim of the driver', { [STORAGE_PROVISIONER]: DRIVER }, true],
    [
      'a claim of the in-tree plugin that is migrated to the driver',
      { [STORAGE_PROVISIONER]: 'kubernetes.io/disk', [MIGRATED_TO]: DRIVER },
      true,
    ],
    ['a claim of the in-tree plugin that is not migrated', { [STORAGE_PROVISIONER]: 'kubernetes.io/disk' }, false],
    [
      'a claim of the in-tree plugin that is migrated to another driver',
      { [STORAGE_PROVISIONER]: 'kubernetes.io/disk', [MIGRATED_TO]: 'other' },
      false,
    ],
    ['a claim of another plugin', { [STORAGE_PROVISIONER]: 'other', [MIGRATED_TO]: DRIVER }, false],
  ])('the annotations decide whether this provisioner is responsible for %s', (_, annotations, expected) => {
    expect(isOurs(view({ annotations }).claim, { names })).toBe(expected)
  })
})
