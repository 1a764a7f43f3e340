import { CODES, type CodeName, type Driver, volumeCapabilityOf } from '@csi-sidecars/csi'
import {
  ControllerPublishVolume,
  ControllerUnpublishVolume,
  CreateVolume,
  type CreateVolumeRequest,
  DeleteVolume,
  type NodeGetInfoResponse,
  type UnaryMethod,
  type Volume,
} from '@csi-sidecars/csi-proto'
import type { CSIDriver } from '@csi-sidecars/kube-types'
import { codeNameOf } from '../../calls/seen.ts'
import type { CheckName, Violation } from '../checks/checks.ts'
import { PERHAPS } from '../checks/repetition.ts'
import type { Abilities } from '../driver/abilities.ts'
import type { DirectCalls, Reply } from '../driver/direct-calls.ts'
import type { OwnNode, OwnNodes } from '../driver/nodes.ts'

export interface SettingParts {
  /** The controller, past the proxy. */
  readonly driver: Driver
  readonly nodes: OwnNodes
  readonly abilities: Abilities
  readonly calls: DirectCalls
  readonly parameters: Readonly<Record<string, string>>
  /** Of volumes that pods declare themselves. */
  readonly inlineAttributes: Readonly<Record<string, string>>
  readonly find: (broken: Violation) => void
  /** As SIGKILL does it; the driver is started again at once. Undefined where the test did not start it. */
  readonly kill: (() => void) | undefined
  /** The options of what is mounted at the path; undefined where nothing is. */
  readonly mountOptions: (path: string) => Promise<ReadonlySet<string> | undefined>
  /** With which the driver's author registers it in a cluster. */
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

/** What the direct questions share: a driver at rest, and volumes that this test creates for them. */
export class Setting {
  readonly parts: SettingParts
  /** Nodes that reach the same volumes. */
  readonly nodes: readonly NodeGetInfoResponse[]

  constructor(parts: SettingParts) {
    this.parts = parts
    this.nodes = largestGroup(parts.abilities)
  }

  /** Those of them whose node services have sockets. */
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

  /** At the controller. */
  ask<Q extends object, R extends object>(method: UnaryMethod<Q, R>, request: Q): Promise<Reply<R>> {
    return this.parts.calls.ask(this.parts.driver, method, request)
  }

  /** What has succeeded; the checks of all calls find what is wrong with the answer. Some codes count the second time. */
  async repeat<Q extends object, R extends object>(
    method: UnaryMethod<Q, R>,
    request: Q,
    driver = this.parts.driver,
  ): Promise<void> {
    const { code } = await this.parts.calls.ask(driver, method, request)
    if (PERHAPS.has(code)) await this.parts.calls.ask(driver, method, request)
  }

  /** Undefined, and a finding, where the driver does not create it. */
  async created(request: CreateVolumeRequest): Promise<Volume | undefined> {
    const reply = await this.ask(CreateVolume, request)
    this.expect({ check: 'converges', what: 'CreateVolume', about: request.name, reply, codes: ['OK'] })
    return reply.response?.volume
  }

  async published(
    { volumeId, volumeContext }: Volume,
    nodeId: string,
    { volumeCapability = ONE_NODE, twice = false } = {},
  ): Promise<Reply<{ publishContext: object }>> {
    const request = { volumeId, nodeId, volumeContext, volumeCapability, readonly: false, secrets: {} }
    const reply = await this.ask(ControllerPublishVolume, request)
    if (twice && reply.code === CODES.OK) await this.repeat(ControllerPublishVolume, request)
    return reply
  }

  async unpublished(volumeId: string, nodeId: string, { twice = false } = {}): Promise<void> {
    const request = { volumeId, nodeId, secrets: {} }
    const reply = await this.ask(ControllerUnpublishVolume, request)
    if (twice && reply.code === CODES.OK) await this.repeat(ControllerUnpublishVolume, request)
    this.expect({
      check: 'converges',
      what: `ControllerUnpublishVolume of ${volumeId}`,
      about: volumeId,
      reply,
      codes: ['OK'],
    })
  }

  async deleted(volumeId: string): Promise<void> {
    const reply = await this.ask(DeleteVolume, { volumeId, secrets: {} })
    this.expect({ check: 'converges', what: `DeleteVolume of ${volumeId}`, about: volumeId, reply, codes: ['OK'] })
  }

  /** Records a finding unless the reply has one of the codes. Returns whether it has. */
  expect({ check, what, about, reply, codes }: Expectation): boolean {
    const { code, message } = reply
    if (codes.some((each) => CODES[each] === code)) return true
    const answer = code === 0 ? 'OK' : `${codeNameOf(code)} ${JSON.stringify(message)}`
    const text = `${what} was answered with ${answer}, not with ${codes.join(' or ')}`
    this.parts.find({ check, about, text, cause: what })
    return false
  }
}

interface Expectation {
  readonly check: CheckName
  /** What was asked. */
  readonly what: string
  readonly about: string | undefined
  readonly reply: Reply<object>
  readonly codes: readonly CodeName[]
}

function largestGroup({ can, nodes }: Abilities): readonly NodeGetInfoResponse[] {
  if (can.zones === undefined) return nodes
  const groups = can.zones.map((zone) => nodes.filter((_, index) => zone.nodes.includes(`node-${index + 1}`)))
  return groups.reduce((largest, group) => (group.length > largest.length ? group : largest), [])
}
