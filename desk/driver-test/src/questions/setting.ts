import { CODES, type CodeName, type Driver } from '@csi-sidecars/csi'
import {
  ControllerUnpublishVolume,
  CreateVolume,
  type CreateVolumeRequest,
  DeleteVolume,
  ListVolumes,
  type ListVolumesResponse_Entry,
  type NodeGetInfoResponse,
  type UnaryMethod,
  type Volume,
  type VolumeContentSource,
} from '@csi-sidecars/csi-proto'
import { codeNameOf, methodOf } from '@csi-sidecars/disturb'
import type { CSIDriver } from '@csi-sidecars/kube-types'
import type { CheckName, Violation } from '../checks/checks.ts'
import { PERHAPS } from '../checks/repetition.ts'
import type { Abilities } from '../driver/abilities.ts'
import type { DirectCalls, Reply } from '../driver/direct-calls.ts'
import type { OwnNode, OwnNodes } from '../driver/nodes.ts'
import { CAPABILITIES, volumeRequest } from '../driver/tries.ts'
import type { DriverTestOptions } from '../options.ts'

/** The driver, its nodes and the receiver of findings, for direct questions. */
export interface SettingParts extends Pick<DriverTestOptions, 'parameters' | 'inlineAttributes'> {
  /** The controller service, called without the proxy. */
  readonly driver: Driver
  readonly nodes: OwnNodes
  readonly abilities: Abilities
  readonly calls: DirectCalls
  readonly find: (broken: Violation) => void
  /** Kills the driver with SIGKILL and starts it again at once. Undefined if the test has not started the driver. */
  readonly kill: (() => void) | undefined
  /** Returns the options of the mount at the path. Undefined if nothing is mounted there. */
  readonly mountOptions: (path: string) => Promise<ReadonlySet<string> | undefined>
  /** The CSIDriver of `--csidriver`, which contains the `fsGroupPolicy`. */
  readonly csiDriver: CSIDriver | undefined
  readonly pause: (ms: number) => Promise<void>
  /** A part of the volume names that is unique for each run. */
  readonly unique: string
}

export const UNKNOWN = 'csi-devcluster-unknown'
export const { mount: ONE_NODE, block: BLOCK } = CAPABILITIES

/** The options of a direct call to the driver, and the requirements for its answer. */
export interface Demand {
  readonly subjectId: string | undefined
  /** The node service to call. Undefined: the controller service. */
  readonly driver?: Driver
  /** The promise that a wrong answer breaks. The default is `converges`. */
  readonly check?: CheckName
  /** The description of the request in a finding. The default is the method and the volume. */
  readonly description?: string
  readonly codes?: readonly CodeName[]
  /** True if the call is sent again after it has succeeded, as a caller does after a lost answer. */
  readonly twice?: boolean
}

/** Helpers for direct calls to a driver that no sidecar calls at the same time. */
export class Setting {
  readonly deps: SettingParts
  /** The largest group of nodes that can use the same volumes. */
  readonly nodes: readonly NodeGetInfoResponse[]

  constructor(deps: SettingParts) {
    this.deps = deps
    this.nodes = largestGroup(deps.abilities)
  }

  /** The nodes in `nodes` whose node services have separate sockets. */
  get ownNodes(): readonly OwnNode[] {
    return this.deps.nodes.all.filter(({ info }) => this.nodes.some(({ nodeId }) => nodeId === info.nodeId))
  }

  has(method: string): boolean {
    return this.deps.abilities.can.methods.includes(method)
  }

  create(name: string, change: Partial<CreateVolumeRequest> = {}): CreateVolumeRequest {
    const topology = this.deps.abilities.can.zones && this.nodes[0]?.accessibleTopology
    const accessibilityRequirements = topology && { requisite: [topology], preferred: [topology] }
    const { unique, parameters } = this.deps
    return { ...volumeRequest(`${name}-${unique}`, parameters), accessibilityRequirements, ...change }
  }

  /** Calls the controller service. */
  ask<Q extends object, R extends object>(method: UnaryMethod<Q, R>, request: Q): Promise<Reply<R>> {
    return this.deps.calls.ask(this.deps.driver, method, request)
  }

  /**
   * Repeats a call. `Repetitions` compares its answer with the first answer. Repeats the call once more after an error
   * that may be temporary: such an error counts only if it occurs twice in a row.
   */
  async repeat<Q extends object, R extends object>(
    method: UnaryMethod<Q, R>,
    request: Q,
    driver = this.deps.driver,
  ): Promise<void> {
    const { code } = await this.deps.calls.ask(driver, method, request)
    if (PERHAPS.has(code)) await this.deps.calls.ask(driver, method, request)
  }

  /** Sends a request. The answer is a finding if its code is not one of `codes`. */
  async demand<Q extends object, R extends object>(
    method: UnaryMethod<Q, R>,
    request: Q,
    { subjectId, driver = this.deps.driver, check = 'converges', twice = false, ...demand }: Demand,
  ): Promise<Reply<R>> {
    const { description = `${methodOf(method.path)} of ${subjectId}`, codes = ['OK'] } = demand
    const reply = await this.deps.calls.ask(driver, method, request)
    const { code, message } = reply
    if (!codes.some((each) => CODES[each] === code)) {
      const answer = code === 0 ? 'OK' : `${codeNameOf(code)} ${JSON.stringify(message)}`
      const text = `${description} was answered with ${answer}, not with ${codes.join(' or ')}`
      this.deps.find({ check, subjectId, text, causeKey: description })
    }
    if (twice && code === 0) await this.repeat(method, request, driver)
    return reply
  }

  /** Creates a volume. If the driver refuses, this is a finding, and the result is undefined. */
  async created(request: CreateVolumeRequest): Promise<Volume | undefined> {
    const { response } = await this.demand(CreateVolume, request, {
      subjectId: request.name,
      description: 'CreateVolume',
    })
    return response?.volume
  }

  /** Creates a volume from a source, repeats the call, and deletes the volume. */
  async copiedTwice(name: string, type: VolumeContentSource['type']): Promise<void> {
    const request = this.create(name, { volumeContentSource: { type } })
    const volume = await this.created(request)
    if (volume === undefined) return
    await this.repeat(CreateVolume, request)
    await this.deleted(volume.volumeId)
  }

  async unpublished(volumeId: string, nodeId: string, { twice = false } = {}): Promise<void> {
    await this.demand(ControllerUnpublishVolume, { volumeId, nodeId, secrets: {} }, { subjectId: volumeId, twice })
  }

  async deleted(volumeId: string): Promise<void> {
    await this.demand(DeleteVolume, { volumeId, secrets: {} }, { subjectId: volumeId })
  }

  /** Returns the entry of the volume in the answer to ListVolumes. */
  async listed(volumeId: string): Promise<ListVolumesResponse_Entry | undefined> {
    const { response } = await this.ask(ListVolumes, { maxEntries: 0, startingToken: '' })
    return response?.entries.find(({ volume }) => volume?.volumeId === volumeId)
  }
}

export function publishRequest({ volumeId, volumeContext }: Volume, nodeId: string, volumeCapability = ONE_NODE) {
  return { volumeId, nodeId, volumeContext, volumeCapability, readonly: false, secrets: {} }
}

function largestGroup({ can, nodes }: Abilities): readonly NodeGetInfoResponse[] {
  if (can.zones === undefined) return nodes
  const groups = can.zones.map((zone) => nodes.filter((_, index) => zone.nodes.includes(`node-${index + 1}`)))
  return groups.reduce((largest, group) => (group.length > largest.length ? group : largest), [])
}
