import {
  PERSISTENT_VOLUME_CLAIMS,
  PERSISTENT_VOLUMES,
  type PolicyRule,
  STORAGE_CLASSES,
  type StorageClass,
  VOLUME_ATTRIBUTES_CLASSES,
} from '@csi-sidecars/kube-types'
import { userWith } from '../../harness/api/user.ts'
import type { TestContext } from '../../harness/context.ts'
import type { Call, Capabilities, DriverOptions, DriverReply, FakeDriver } from '../../harness/driver/driver.ts'
import { createdVolume } from '../../harness/driver/driver.ts'
import { type Answers, answer, made, merged, type Of } from '../actions.ts'
import { createTier } from '../resizer/scene.ts'
import { type Action, rowsOf } from '../row.ts'
import { installCrds } from '../snapshotter/scene.ts'
import { LATER_PREFIX } from '../trace.ts'
import {
  type ClaimParts,
  claimEvent,
  claimOfClass,
  claimRef,
  createClaim,
  createClass,
  createNodes,
  LATE,
  PROVISIONED_BY,
  released,
  type Site,
  setPhase,
} from './scene.ts'

interface ProvisionerSetup {
  readonly args?: readonly string[]
  /** Controller capabilities of the driver in addition to the capability to create and delete volumes. */
  readonly controller?: Readonly<Capabilities['controller']>
  readonly answers?: Of<Answers>
  /** The StorageClass `class`. */
  readonly class?: Of<Partial<StorageClass>>
  /** More parts of the driver. */
  readonly driver?: Partial<DriverOptions>
  /** The nodes of a driver with topology. */
  readonly nodes?: Readonly<Record<string, Site>>
  /** True if the cluster must have the kinds of snapshots. */
  readonly snapshots?: true
  /** All permissions of the provisioner. Default: those of the chart. */
  readonly rules?: readonly PolicyRule[]
  readonly env?: Of<NodeJS.ProcessEnv>
  /** The node of a provisioner with `--node-deployment`. */
  readonly ofNode?: string
  /** True if a step of the row starts the provisioner. */
  readonly startsLater?: true
}

/** The driver and the setup of one row about the provisioner. Each action of the row receives them. */
export interface RowScene {
  readonly driver: FakeDriver
  readonly setup: ProvisionerSetup
}

/** The class of the claims that only show that earlier work has ended. Its parameter marks their CreateVolume calls. */
const LATER_CLASS = `${LATER_PREFIX}class`

/** Returns a function that adds a row about the provisioner. `common` is the setup of all rows, which a row may override. */
export function provisionerRows(group: string, file: string, common: ProvisionerSetup = {}) {
  const scene = (t: TestContext, setup: ProvisionerSetup): Promise<RowScene> => begin(t, { ...common, ...setup })
  return rowsOf<RowScene, ProvisionerSetup>({ app: 'provisioner', scene, laterWork }, { group, file })
}

async function begin(t: TestContext, setup: ProvisionerSetup): Promise<RowScene> {
  const { answers, controller = [], driver: fields = {} } = setup
  if (setup.snapshots) await installCrds(t)
  await createNodes(t, setup.nodes ?? {})
  const driver = await t.driver({
    controller: ['CREATE_DELETE_VOLUME', ...controller],
    topology: setup.nodes !== undefined,
    ...fields,
  })
  answer(driver, made(t, answers ?? {}))
  await createClass(t, made(t, setup.class ?? {}))
  const binding = setup.ofNode === undefined ? {} : LATE
  await createClass(t, { ...binding, provisioner: driver.name, parameters: { [LATER_PREFIX]: 'yes' } }, LATER_CLASS)
  const at = { driver, setup }
  if (setup.startsLater !== true) await started.run(t, at)
  return at
}

/** Creates another claim, and waits until the provisioner has stored its volume, or a warning. */
function laterWork(t: TestContext, { driver, setup: { ofNode } }: RowScene, suffix: string): Promise<void> {
  return claimOfClass(t, suffix, { storageClass: LATER_CLASS, driver: driver.name, node: ofNode })
}

const WATCHED = ['persistentvolumeclaims', 'persistentvolumes', 'storageclasses']
const TOPOLOGY_OFF = '--feature-gates=Topology=false'

/** Starts a provisioner, and waits until it watches. */
export const started: Action<RowScene> = {
  name: 'start the provisioner',
  run: async (t, { driver, setup: { args = [], env = {}, rules, nodes, ofNode } }) => {
    const user = rules && (await userWith(t, rules))
    const ofItsNode = ofNode === undefined ? {} : { NODE_NAME: t.name(ofNode) }
    const watchesNodes = nodes !== undefined && !args.includes(TOPOLOGY_OFF)
    await t.running(
      { driver, args, user, env: { ...made(t, env), ...ofItsNode } },
      ...WATCHED,
      ...(watchesNodes ? ['nodes', 'csinodes'] : []),
    )
  },
}

/** The fields in which the claim of a row differs from the default. */
export interface ClaimedParts extends ClaimParts {
  /** The StorageClass of this claim only. Without it, the claim has the class of the row. */
  readonly class?: Partial<StorageClass>
}

/** Creates the claim `pvc`, with the annotation of the PV controller. */
export function claimed(fields: Of<ClaimedParts> = {}, suffix = ''): Action<unknown> {
  return {
    name: `create PersistentVolumeClaim pvc${suffix}`,
    run: async (t) => {
      const { class: className, spec, ...others } = made(t, fields)
      if (spec?.volumeAttributesClassName !== undefined) t.requires('volumeattributesclasses')
      const classSuffix = `class${suffix}`
      if (className !== undefined) await classCreated(className, classSuffix).run(t, {})
      const storageClass = className === undefined ? {} : { storageClassName: t.name(classSuffix) }
      await createClaim(t, { ...others, suffix, spec: { ...storageClass, ...spec } })
    },
  }
}

/** Changes the labels of a claim. */
export function touched(suffix = '', value = 'yes'): Action<unknown> {
  return merged(PERSISTENT_VOLUME_CLAIMS, `pvc${suffix}`, { metadata: { labels: { touched: value } } })
}

/** Waits for an event of the claim whose message contains the text. */
export function reports(text: string, suffix = ''): Action<unknown> {
  return { name: `an event of pvc${suffix}`, run: (t) => claimEvent(t, text, suffix) }
}

/** Creates Nodes and CSINodes, and waits until the provisioner knows. */
export function nodesCreated(sites: Readonly<Record<string, Site>>): Action<unknown> {
  return { name: `create nodes ${Object.keys(sites).join(', ')}`, run: (t) => createNodes(t, sites) }
}

/** Creates a StorageClass, and waits until the provisioner knows. */
export function classCreated(fields: Partial<StorageClass> = {}, suffix = 'class'): Action<unknown> {
  return {
    name: `create StorageClass ${suffix}`,
    run: async (t) => {
      await createClass(t, fields, suffix)
      await t.received(STORAGE_CLASSES, await t.api.get(STORAGE_CLASSES, { name: t.name(suffix) }))
    },
  }
}

/** Releases the volume of a claim, as the PV controller does after the deletion of the claim. */
export function volumeOfClaimReleased(suffix = ''): Action<unknown> {
  return {
    name: `the PersistentVolume of pvc${suffix} becomes Released`,
    run: async (t) => {
      const { metadata } = await t.api.get(PERSISTENT_VOLUME_CLAIMS, claimRef(t, suffix))
      await setPhase(t, `pvc-${metadata?.uid}`, 'Released')
    },
  }
}

/** Creates the VolumeAttributesClass of a tier, and waits until the provisioner knows. */
export function tierCreated(tier: string, driver?: string): Action<unknown> {
  return {
    name: `create VolumeAttributesClass ${tier}`,
    run: async (t) => {
      const name = await createTier(t, tier, driver)
      await t.received(VOLUME_ATTRIBUTES_CLASSES, await t.api.get(VOLUME_ATTRIBUTES_CLASSES, { name }))
    },
  }
}

type VolumeParts = Omit<NonNullable<Parameters<typeof released>[1]>, 'what'>

/** Creates a released volume of the driver. */
export function volumeReleased(fields: Of<VolumeParts> = {}, suffix = 'pv'): Action<unknown> {
  return {
    name: `create released PersistentVolume ${suffix}`,
    run: (t) => released(t, { ...made(t, fields), suffix }),
  }
}

/** Creates a volume that the driver has provisioned, with these finalizers and this policy. */
export function volumeOwned(
  finalizers: readonly string[] = [],
  persistentVolumeReclaimPolicy: 'Delete' | 'Retain' = 'Delete',
): Action<unknown> {
  return {
    name: 'create PersistentVolume pv',
    run: async (t) => {
      const metadata = { annotations: { [PROVISIONED_BY]: t.driverName }, finalizers }
      const name = await t.createVolume('pv', { metadata, persistentVolumeReclaimPolicy })
      await t.received(PERSISTENT_VOLUMES, await t.api.get(PERSISTENT_VOLUMES, { name }))
    },
  }
}

/** Sets the phase of a volume, as the PV controller does. */
export function phaseSet(phase: string, suffix = 'pv'): Action<unknown> {
  return {
    name: `PersistentVolume ${suffix} becomes ${phase}`,
    run: async (t) => {
      const name = t.name(suffix)
      await setPhase(t, name, phase)
      await t.received(PERSISTENT_VOLUMES, await t.api.get(PERSISTENT_VOLUMES, { name }))
    },
  }
}

/** A successful answer to CreateVolume with a volume that differs from the usual one in these fields. */
export function volumeAnswer(change: object): (call: Call) => DriverReply {
  return ({ request }) => ({ reply: { volume: createdVolume(request, change) } })
}
