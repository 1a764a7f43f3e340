import {
  type KubeObject,
  type Resource,
  VOLUME_GROUP_SNAPSHOT_CONTENTS,
  VOLUME_SNAPSHOT_CONTENTS,
} from '@csi-sidecars/kube-types'
import type { TestContext } from '../../harness/context.ts'
import type { Capabilities, FakeDriver } from '../../harness/driver/driver.ts'
import { type Answers, answer, made, type Of } from '../actions.ts'
import { type Action, rowsOf } from '../row.ts'
import {
  type ContentParts,
  createClass,
  createContent,
  createGiven,
  createGivenGroup,
  createGroup,
  createGroupClass,
  groupSnapshot,
  installCrds,
  joinGroup,
  listed,
  MEMBER,
  remove,
  SNAPSHOTS,
  scene,
  secretAnnotations,
  snapshot,
} from './scene.ts'

interface SnapshotterSetup {
  readonly args?: readonly string[]
  readonly controller?: Capabilities['controller']
  readonly answers?: Answers
  /** The parameters of both snapshot classes. */
  readonly parameters?: Readonly<Record<string, string>>
  /** True if there are no snapshot classes. */
  readonly noClass?: true
  /** True if the snapshot classes are those of another driver. */
  readonly foreignClass?: true
  /** True if a step of the row starts the snapshotter. */
  readonly startsLater?: true
}

/** The driver and the setup of one row about the snapshotter. Each action of the row receives them. */
export interface RowScene {
  readonly driver: FakeDriver
  readonly setup: SnapshotterSetup
}

/** Returns a function that adds a row about the snapshotter. */
export function snapshotterRows(group: string, file: string) {
  return rowsOf<RowScene, SnapshotterSetup>({ app: 'snapshotter', scene: begin, laterWork }, { group, file })
}

/** The answers of a healthy driver. */
const USUAL: Answers = {
  CreateSnapshot: [snapshot()],
  CreateVolumeGroupSnapshot: [groupSnapshot()],
  ListSnapshots: [listed()],
  GetVolumeGroupSnapshot: [groupSnapshot()],
}

async function begin(t: TestContext, setup: SnapshotterSetup): Promise<RowScene> {
  const { answers, startsLater, controller = SNAPSHOTS, args = [], parameters, noClass, foreignClass } = setup
  await installCrds(t)
  if (noClass !== true) {
    const fields = foreignClass ? { driver: 'other.example.com' } : {}
    await createClass(t, parameters, fields)
    await createGroupClass(t, parameters, fields)
  }
  const driver = await t.driver({ controller })
  const prepare = (): void => answer(driver, answers, USUAL)
  prepare()
  if (startsLater !== true) await scene(t, { driver, args, prepare })
  return { driver, setup }
}

/** Creates a content of a pre-provisioned snapshot, and waits until the snapshotter has stored the result or an error. */
async function laterWork(t: TestContext, _: RowScene, suffix: string): Promise<void> {
  const volumeSnapshotRef = { namespace: 'default', name: suffix, uid: suffix }
  const name = await createGiven(t, { suffix, spec: { source: { snapshotHandle: suffix }, volumeSnapshotRef } })
  await t.api.until(VOLUME_SNAPSHOT_CONTENTS, { name }, ({ status }) => status != null)
}

type Create = (t: TestContext, fields: ContentParts) => Promise<string>

function created(name: string, create: Create) {
  return (fields: Of<ContentParts> = {}): Action<unknown> => ({ name, run: (t) => create(t, made(t, fields)) })
}

export const content = created('create VolumeSnapshotContent', createContent)
export const preProvisioned = created('create VolumeSnapshotContent of a pre-provisioned snapshot', createGiven)
export const group = created('create VolumeGroupSnapshotContent', createGroup)
export const givenGroup = created('create VolumeGroupSnapshotContent of pre-provisioned snapshots', createGivenGroup)

/** Creates the VolumeSnapshotContent of a group member, without its handles. */
export const member = created('create VolumeSnapshotContent of a group member', (t, { metadata = {}, ...fields }) => {
  const annotations = { ...MEMBER, ...(metadata as { readonly annotations?: object }).annotations }
  const spec = { volumeSnapshotClassName: undefined }
  return createContent(t, { ...fields, metadata: { ...metadata, annotations }, spec })
})

/** Writes the handles of the member, as the snapshot-controller does. */
export const joined: Action<unknown> = {
  name: 'write the handles of the member',
  run: (t) => joinGroup(t, t.name('content')),
}

function removal(resource: Resource<KubeObject>, suffix: string): Action<unknown> {
  return { name: `delete ${resource.kind} ${suffix}`, run: (t) => remove(t, t.name(suffix), resource) }
}

/** Deletes a content as the snapshot-controller does after its VolumeSnapshot. */
export function contentRemoved(suffix = 'content'): Action<unknown> {
  return removal(VOLUME_SNAPSHOT_CONTENTS, suffix)
}

export const groupRemoved = removal(VOLUME_GROUP_SNAPSHOT_CONTENTS, 'group')

/** Starts a snapshotter, and waits until it watches. */
export const started: Action<RowScene> = {
  name: 'start the snapshotter',
  run: (t, { driver, setup: { args = [] } }) =>
    t.running({ driver, args }, 'volumesnapshotcontents', 'volumesnapshotclasses', 'volumegroupsnapshotcontents'),
}

/** Annotations by which the snapshot-controller names the Secret `secret`, or another one. */
export function annotated(prefix: string, name = 'secret', namespace = 'default') {
  return (t: TestContext): ContentParts => ({
    metadata: { annotations: secretAnnotations(prefix, name === '' ? '' : t.name(name), namespace) },
  })
}
