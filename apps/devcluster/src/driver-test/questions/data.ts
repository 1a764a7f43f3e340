import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { messageOf } from '@csi-sidecars/base'
import {
  ControllerExpandVolume,
  NodeExpandVolume,
  NodeGetVolumeStats,
  NodeServiceCapability_RPC_Type as NodeRpc,
  type Volume,
} from '@csi-sidecars/csi-proto'
import { nodeCan } from '../../driver/driver.ts'
import type { OwnNode } from '../driver/nodes.ts'
import { type Mounted, mount, unmount } from './mounted.ts'
import { GIB, ONE_NODE, type Setting } from './setting.ts'

const FILE = 'csi-devcluster-data'
const FIRST = 'written first'

/** Writes to volumes and reads what was written: after a mount, a move and an expansion, and in a clone. */
export async function checkData(setting: Setting): Promise<void> {
  const [first, second] = setting.parts.nodes.all.filter(({ info }) =>
    setting.nodes.some(({ nodeId }) => nodeId === info.nodeId),
  )
  if (first === undefined) return
  const volume = await setting.created(setting.create('data'))
  if (volume === undefined) return
  const files = new Files(setting, volume)
  const written = await files.within(first, (mounted) => files.write(mounted, FIRST))
  if (written === true) {
    await files.within(first, (mounted) => files.check(mounted, 'after an unmount and a mount'))
    if (second !== undefined)
      await files.within(second, (mounted) => files.check(mounted, 'after a move to another node'))
    if (setting.has('ControllerExpandVolume')) await files.within(first, (mounted) => files.expand(mounted))
    if (setting.parts.abilities.can.clone === true) await checkClone(files, first)
    await files.within(first, (mounted) => files.refuse(mounted), true)
  }
  await setting.deleted(volume.volumeId)
}

async function checkClone(files: Files, node: OwnNode): Promise<void> {
  const { setting, volume } = files
  const volumeContentSource = { type: { $case: 'volume' as const, value: { volumeId: volume.volumeId } } }
  // A clone is as large as its source at least.
  const capacityRange = { requiredBytes: 2n * (volume.capacityBytes || GIB), limitBytes: 0n }
  const clone = await setting.created(setting.create('data-clone', { volumeContentSource, capacityRange }))
  if (clone === undefined) return
  const inClone = new Files(setting, clone)
  await inClone.within(node, async (mounted) => {
    await inClone.check(mounted, `in the clone of ${volume.volumeId}`)
    return await inClone.write(mounted, 'written to the clone')
  })
  await files.within(node, (mounted) => files.check(mounted, 'after its clone was written'))
  await setting.deleted(clone.volumeId)
}

/** The file of one volume. */
class Files {
  readonly setting: Setting
  readonly volume: Volume

  constructor(setting: Setting, volume: Volume) {
    this.setting = setting
    this.volume = volume
  }

  /** Undefined where the volume cannot be mounted, or where a driver only answers as if it were. */
  async within<T>(node: OwnNode, work: (mounted: Mounted) => Promise<T>, readonly = false): Promise<T | undefined> {
    const mounted = await mount(this.setting, this.volume, { node, readonly })
    if (mounted === undefined) return undefined
    try {
      return (await this.setting.parts.isMounted(mounted.path)) ? await work(mounted) : undefined
    } finally {
      await unmount(this.setting, this.volume, mounted)
    }
  }

  async write({ path }: Mounted, text: string): Promise<boolean> {
    try {
      await writeFile(join(path, FILE), text, { flush: true })
      return true
    } catch (error) {
      this.#find('data', `cannot be written: ${messageOf(error)}`)
      return false
    }
  }

  async check({ path }: Mounted, when: string): Promise<void> {
    const text = await readFile(join(path, FILE), 'utf8').catch((error: unknown) => `nothing: ${messageOf(error)}`)
    if (text !== FIRST) this.#find('data', `has ${JSON.stringify(text)} ${when}, not ${JSON.stringify(FIRST)}`)
  }

  /** A mount that is to be read only. */
  async refuse({ path }: Mounted): Promise<void> {
    const refused = await writeFile(join(path, `${FILE}-2`), FIRST).then(
      () => false,
      () => true,
    )
    if (!refused) this.#find('readOnly', 'was mounted to be read, and could be written')
  }

  async expand(mounted: Mounted): Promise<void> {
    const { setting, volume } = this
    const { volumeId } = volume
    const before = await this.#total(mounted)
    const capacityRange = { requiredBytes: 2n * (volume.capacityBytes || GIB), limitBytes: 0n }
    const request = { volumeId, capacityRange, volumeCapability: ONE_NODE, secrets: {} }
    const reply = await setting.ask(ControllerExpandVolume, request)
    const about = { about: volumeId, codes: ['OK'] as const }
    setting.expect({ check: 'converges', what: `ControllerExpandVolume of ${volumeId}`, reply, ...about })
    if (reply.code !== 0) return
    const { driver } = mounted.node
    if (reply.response?.nodeExpansionRequired === true && nodeCan(driver, NodeRpc.EXPAND_VOLUME)) {
      const { path: volumePath, staging: stagingTargetPath } = mounted
      const grown = await setting.parts.calls.ask(driver, NodeExpandVolume, {
        ...request,
        volumePath,
        stagingTargetPath,
      })
      setting.expect({ check: 'converges', what: `NodeExpandVolume of ${volumeId}`, reply: grown, ...about })
    }
    await this.check(mounted, 'after an expansion')
    const after = await this.#total(mounted)
    // Several volumes may share a file system, whose size says nothing about one of them.
    const own = before !== undefined && before > volume.capacityBytes / 2n && before <= volume.capacityBytes
    if (own && after !== undefined && after <= before) {
      this.#find('usage', `has ${after} bytes by NodeGetVolumeStats, as before its expansion`)
    }
  }

  async #total({ node, path, staging }: Mounted): Promise<bigint | undefined> {
    if (!nodeCan(node.driver, NodeRpc.GET_VOLUME_STATS)) return undefined
    const request = { volumeId: this.volume.volumeId, volumePath: path, stagingTargetPath: staging }
    const { response } = await this.setting.parts.calls.ask(node.driver, NodeGetVolumeStats, request)
    return response?.usage.map(({ total }) => total).reduce((most, each) => (each > most ? each : most), 0n)
  }

  #find(check: 'data' | 'readOnly' | 'usage', what: string): void {
    const { volumeId: about } = this.volume
    this.setting.parts.find({ check, about, text: `volume ${about} ${what}` })
  }
}
