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
import { codeNameOf } from '../../calls/seen.ts'
import type { CheckName, Violation } from '../checks/checks.ts'
import type { Abilities } from '../driver/abilities.ts'
import type { DirectCalls, Reply } from '../driver/direct-calls.ts'
import type { OwnNodes } from '../driver/nodes.ts'

export interface SettingParts {
  /** The controller, past the proxy. */
  readonly driver: Driver
  readonly nodes: OwnNodes
  readonly abilities: Abilities
  readonly calls: DirectCalls
  readonly parameters: Readonly<Record<string, string>>
  readonly find: (broken: Violation) => void
  /** As SIGKILL does it; the driver is started again at once. Undefined where the test did not start it. */
  readonly kill: (() => void) | undefined
  /** Whether something is mounted at the path. */
  readonly isMounted: (path: string) => Promise<boolean>
  /** Part of the names of volumes: unique for each run. */
  readonly unique: string
}

export const GIB = 1024n ** 3n
export const UNKNOWN = 'csi-devcluster-unknown'
export const ONE_NODE = volumeCapabilityOf({ volumeMode: 'Filesystem', accessModes: ['ReadWriteOnce'] }, false)

/** What the direct questions share: a driver at rest, and volumes that this test creates for them. */
export class Setting {
  readonly parts: SettingParts
  /** Nodes that reach the same volumes. */
  readonly nodes: readonly NodeGetInfoResponse[]

  constructor(parts: SettingParts) {
    this.parts = parts
    this.nodes = largestGroup(parts.abilities)
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

  /** Undefined, and a finding, where the driver does not create it. */
  async created(request: CreateVolumeRequest): Promise<Volume | undefined> {
    const reply = await this.ask(CreateVolume, request)
    this.expect({ check: 'converges', what: 'CreateVolume', about: request.name, reply, codes: ['OK'] })
    return reply.response?.volume
  }

  async published({ volumeId, volumeContext }: Volume, nodeId: string): Promise<Reply<{ publishContext: object }>> {
    const request = { volumeId, nodeId, volumeContext, volumeCapability: ONE_NODE, readonly: false, secrets: {} }
    return await this.ask(ControllerPublishVolume, request)
  }

  async unpublished(volumeId: string, nodeId: string): Promise<void> {
    const reply = await this.ask(ControllerUnpublishVolume, { volumeId, nodeId, secrets: {} })
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
