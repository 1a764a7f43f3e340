import { CODES, type CodeName, type Driver, volumeCapabilityOf } from '@csi-sidecars/csi'
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
} from '@csi-sidecars/csi-proto'
import { codeNameOf, methodOf } from '@csi-sidecars/disturb'
import type { CSIDriver } from '@csi-sidecars/kube-types'
import type { CheckName, Violation } from '../checks/checks.ts'
import { PERHAPS } from '../checks/repetition.ts'
import type { Abilities } from '../driver/abilities.ts'
import type { DirectCalls, Reply } from '../driver/direct-calls.ts'
import type { OwnNode, OwnNodes } from '../driver/nodes.ts'
import type { TestOptions } from '../options.ts'

export interface SettingParts extends Pick<TestOptions, 'parameters' | 'inlineAttributes'> {
  /** The controller, past the proxy. */
  readonly driver: Driver
  readonly nodes: OwnNodes
  readonly abilities: Abilities
  readonly calls: DirectCalls
  readonly find: (broken: Violation) => void
  /** Kills the driver as SIGKILL does, and starts it again at once. Undefined if the test did not start the driver. */
  readonly kill: (() => void) | undefined
  /** Returns the options of the mount at the path. Undefined if nothing is mounted there. */
  readonly mountOptions: (path: string) => Promise<ReadonlySet<string> | undefined>
  /** The CSIDriver of the author, which has the `fsGroupPolicy`. */
  readonly csiDriver: CSIDriver | undefined
  readonly pause: (ms: number) => Promise<void>
  /** Part of the names of volumes: unique for each run. */
  readonly unique: string
}

export const GIB = 1024n ** 3n
export const UNKNOWN = 'csi-devcluster-unknown'
const ACCESS = { accessModes: ['ReadWriteOnce'] }
export const ONE_NODE = volumeCapabilityOf({ volumeMode: 'Filesystem', ...ACCESS }, false)
export const BLOCK = volumeCapabilityOf({ volumeMode: 'Block', ...ACCESS }, false)

/** The shared parts of the direct questions: a driver at rest, and volumes created for the questions. */
export class Setting {
  readonly parts: SettingParts
  /** Nodes that reach the same volumes. */
  readonly nodes: readonly NodeGetInfoResponse[]

  constructor(parts: SettingParts) {
    this.parts = parts
    this.nodes = largestGroup(parts.abilities)
  }

  /** The nodes whose services have sockets. */
  get ownNodes(): readonly OwnNode[] {
    return this.parts.nodes.all.filter(({ info }) => this.nodes.some(({ nodeId }) => nodeId === info.nodeId))
  }

  has(method: string): boolean {
    return this.parts.abilities.can.methods.includes(method)
  }

  create(name: string, change: Partial<CreateVolumeRequest> = {}): CreateVolumeRequest {
    const topology = this.parts.abilities.can.zones && this.nodes[0]?.accessibleTopology
    return {
      name: `csi-devcluster-${name}-${this.parts.unique}`,
      capacityRange: { requiredBytes: GIB, limitBytes: 0n },
      volumeCapabilities: [ONE_NODE],
      parameters: { ...this.parts.parameters },
      secrets: {},
      volumeContentSource: undefined,
      accessibilityRequirements: topology && { requisite: [topology], preferred: [topology] },
      mutableParameters: {},
      ...change,
    }
  }

  /** Calls the controller. */
  ask<Q extends object, R extends object>(method: UnaryMethod<Q, R>, request: Q): Promise<Reply<R>> {
    return this.parts.calls.ask(this.parts.driver, method, request)
  }

  /**
   * Sends a request and returns its answer. The checks of all calls find errors in the answer. Some codes count only
   * the second time.
   */
  async repeat<Q extends object, R extends object>(
    method: UnaryMethod<Q, R>,
    request: Q,
    driver = this.parts.driver,
  ): Promise<void> {
    const { code } = await this.parts.calls.ask(driver, method, request)
    if (PERHAPS.has(code)) await this.parts.calls.ask(driver, method, request)
  }

  /** Asks, and records a finding unless the answer has one of the codes. */
  async demand<Q extends object, R extends object>(
    method: UnaryMethod<Q, R>,
    request: Q,
    { about, driver = this.parts.driver, check = 'converges', twice = false, ...demand }: Demand,
  ): Promise<Reply<R>> {
    const { what = `${methodOf(method.path)} of ${about}`, codes = ['OK'] } = demand
    const reply = await this.parts.calls.ask(driver, method, request)
    const { code, message } = reply
    if (!codes.some((each) => CODES[each] === code)) {
      const answer = code === 0 ? 'OK' : `${codeNameOf(code)} ${JSON.stringify(message)}`
      const text = `${what} was answered with ${answer}, not with ${codes.join(' or ')}`
      this.parts.find({ check, about, text, cause: what })
    }
    if (twice && code === 0) await this.repeat(method, request, driver)
    return reply
  }

  /** Undefined, and a finding, if the driver does not create the volume. */
  async created(request: CreateVolumeRequest): Promise<Volume | undefined> {
    const { response } = await this.demand(CreateVolume, request, { about: request.name, what: 'CreateVolume' })
    return response?.volume
  }

  async unpublished(volumeId: string, nodeId: string, { twice = false } = {}): Promise<void> {
    await this.demand(ControllerUnpublishVolume, { volumeId, nodeId, secrets: {} }, { about: volumeId, twice })
  }

  async deleted(volumeId: string): Promise<void> {
    await this.demand(DeleteVolume, { volumeId, secrets: {} }, { about: volumeId })
  }

  /** Returns the entry of the volume in the driver's list. Undefined without such an entry. */
  async listed(volumeId: string): Promise<ListVolumesResponse_Entry | undefined> {
    const { response } = await this.ask(ListVolumes, { maxEntries: 0, startingToken: '' })
    return response?.entries.find(({ volume }) => volume?.volumeId === volumeId)
  }
}

/** The required answer of a request, and the finding for any other answer. */
export interface Demand {
  readonly about: string | undefined
  /** A node's; without it the controller's. */
  readonly driver?: Driver
  /** The promise that another answer breaks. */
  readonly check?: CheckName
  /** The text of the request. Default: the method and its object. */
  readonly what?: string
  readonly codes?: readonly CodeName[]
  /** Repeats the call when it has succeeded, as after a lost answer. */
  readonly twice?: boolean
}

export function publishRequest({ volumeId, volumeContext }: Volume, nodeId: string, volumeCapability = ONE_NODE) {
  return { volumeId, nodeId, volumeContext, volumeCapability, readonly: false, secrets: {} }
}

function largestGroup({ can, nodes }: Abilities): readonly NodeGetInfoResponse[] {
  if (can.zones === undefined) return nodes
  const groups = can.zones.map((zone) => nodes.filter((_, index) => zone.nodes.includes(`node-${index + 1}`)))
  return groups.reduce((largest, group) => (group.length > largest.length ? group : largest), [])
}
