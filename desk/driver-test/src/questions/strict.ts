import { join } from 'node:path'
import { CODES, type CodeName, type Driver } from '@csi-sidecars/csi'
import {
  ControllerModifyVolume,
  ControllerPublishVolume,
  CreateVolume,
  type CreateVolumeResponse,
  DeleteVolume,
  ListVolumes,
  type Volume,
} from '@csi-sidecars/csi-proto'
import { canList, listsNodes } from '../driver/lists.ts'
import { CONTROLLER_QUESTIONS, NODE_QUESTIONS, type RequestScope } from './requests.ts'
import { type Demand, publishRequest, type Setting } from './setting.ts'

/** Sends requests that no cluster sends. They name only volumes of the test. */
export async function askStrictly(setting: Setting): Promise<void> {
  const volume = await setting.created(setting.create('strict'))
  if (volume === undefined) return
  const { nodes, driver } = setting.deps
  const [first, second] = setting.nodes.map(({ nodeId }) => nodeId)
  const scope = { setting, volume, nodeId: first ?? '', path: join(nodes.folder, 'node-1', 'nothing') }
  await setting.repeat(CreateVolume, setting.create('strict'))
  await askAll(CONTROLLER_QUESTIONS, scope, driver)
  const [node] = nodes.all
  if (node !== undefined) await askAll(NODE_QUESTIONS, scope, node.driver)
  if (canList(driver)) await walkPages(setting, volume)
  // The random faults of a seed do not always repeat the creation of a clone.
  if (setting.deps.abilities.can.clone === true)
    await setting.copiedTwice('clone', { $case: 'volume', value: { volumeId: volume.volumeId } })
  await modifyTwice(setting, volume)
  if (setting.has('ControllerPublishVolume') && first !== undefined) await publishTwice(scope, { first, second })
  await setting.deleted(volume.volumeId)
  await setting.deleted(volume.volumeId)
}

async function askAll(tables: typeof CONTROLLER_QUESTIONS, scope: RequestScope, driver: Driver): Promise<void> {
  const { setting, volume } = scope
  for (const { when, rows } of tables) {
    if (!when(setting)) continue
    for (const { method, ask } of rows) {
      const { response } = await ask(scope, driver)
      // Only a volume in an answer to CreateVolume is deleted. Other answers may name volumes of other users.
      const created =
        method === CreateVolume ? (response as CreateVolumeResponse | undefined)?.volume?.volumeId : undefined
      if (created !== undefined && created !== '' && created !== volume.volumeId) await setting.deleted(created)
    }
  }
}

/** Modifies the volume with each set of attributes, and repeats each call. */
async function modifyTwice(setting: Setting, { volumeId }: Volume): Promise<void> {
  for (const attributes of setting.deps.abilities.can.attributes ?? []) {
    const request = { volumeId, secrets: {}, mutableParameters: { ...attributes } }
    await setting.demand(ControllerModifyVolume, request, { subjectId: volumeId })
    await setting.repeat(ControllerModifyVolume, request)
  }
}

/** Publishes a ReadWriteOnce volume to a second node, and deletes the volume while it is published. */
async function publishTwice(
  { setting, volume }: RequestScope,
  { first, second }: { readonly first: string; readonly second: string | undefined },
): Promise<void> {
  const { volumeId } = volume
  const attach = (nodeId: string, demand: Omit<Demand, 'subjectId'>) =>
    setting.demand(ControllerPublishVolume, publishRequest(volume, nodeId), { subjectId: volumeId, ...demand })
  const attached = await attach(first, { description: `ControllerPublishVolume of ${volumeId} to ${first}` })
  if (attached.code !== CODES.OK) return
  const refused: readonly CodeName[] = ['FailedPrecondition']
  if (second !== undefined) {
    const description = `ControllerPublishVolume of ${volumeId}, a volume for one node that is on ${first}, to ${second}`
    await attach(second, { check: 'oneNode', description, codes: refused })
    await setting.unpublished(volumeId, second)
    await staysOn(setting, volumeId, { first, second })
  }
  const demand = {
    subjectId: volumeId,
    check: 'inUse',
    description: `DeleteVolume of ${volumeId} while it is published to ${first}`,
  } as const
  const { code } = await setting.demand(DeleteVolume, { volumeId, secrets: {} }, { ...demand, codes: refused })
  // If the driver has deleted the volume in spite of its use, there is nothing to detach.
  if (code === CODES.OK) return
  await setting.unpublished(volumeId, first)
  if ((await nodesOf(setting, volumeId))?.includes(first) !== true) return
  setting.deps.find({
    check: 'ended',
    subjectId: volumeId,
    text: `volume ${volumeId} is listed on ${first} after a detach from there`,
  })
}

interface TwoNodes {
  readonly first: string
  readonly second: string
}

/** Reports a finding if a detach from the second node has removed the first node from ListVolumes, too. */
async function staysOn(setting: Setting, volumeId: string, { first, second }: TwoNodes): Promise<void> {
  const nodes = await nodesOf(setting, volumeId)
  if (nodes === undefined || nodes.includes(first)) return
  const text = `volume ${volumeId} was published to ${first} and is not listed there, after a detach from ${second} alone`
  setting.deps.find({ check: 'kept', subjectId: volumeId, text })
}

/** Returns the nodes of the volume in the answer to ListVolumes. Undefined if the driver does not list them. */
async function nodesOf(setting: Setting, volumeId: string): Promise<readonly string[] | undefined> {
  if (!listsNodes(setting.deps.driver)) return undefined
  return (await setting.listed(volumeId))?.status?.publishedNodeIds
}

const MAX_PAGES = 10_000

/** Reads ListVolumes in pages of one entry. Each volume of the test must be on exactly one page. */
async function walkPages(setting: Setting, { volumeId }: Volume): Promise<void> {
  const other = await setting.created(setting.create('page'))
  const ids: string[] = []
  let startingToken = ''
  let ended = false
  let wrong: string | undefined
  for (let page = 0; wrong === undefined && page < MAX_PAGES; page += 1) {
    const { code, response } = await setting.ask(ListVolumes, { maxEntries: 1, startingToken })
    if (code !== 0 || response === undefined) break
    if (response.entries.length > 1) wrong = `a page has ${response.entries.length} entries`
    ids.push(...response.entries.map(({ volume }) => volume?.volumeId ?? ''))
    startingToken = response.nextToken
    ended = startingToken === ''
    if (ended) break
  }
  if (other !== undefined) await setting.deleted(other.volumeId)
  for (const id of [volumeId, ...(other === undefined ? [] : [other.volumeId])]) {
    const times = ids.filter((each) => each === id).length
    if (ended && times !== 1) wrong ??= `volume ${id} is on ${times} pages`
  }
  if (wrong === undefined) return
  setting.deps.find({ check: 'listed', subjectId: undefined, text: `ListVolumes with one entry a page: ${wrong}` })
}
