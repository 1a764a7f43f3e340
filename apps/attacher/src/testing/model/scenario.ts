import { VOLUME_ATTACHMENTS } from '@csi-sidecars/kube-types'
import type { InFlight } from '@csi-sidecars/testkit'
import { AttacherModel, VOLUMES } from './attacher-model.ts'
import type { AttacherProcess } from './process.ts'

/** Runs the model step by step: the test answers each request to the API server and to the driver. */
export class AttacherScenario extends AttacherModel {
  /** Begins with all volumes, two nodes, and an attacher that has read them. */
  static async begin(options: ConstructorParameters<typeof AttacherModel>[0] = {}): Promise<AttacherScenario> {
    const scenario = new AttacherScenario({ lists: false, ...options })
    for (const each of VOLUMES) scenario.createVolume(each)
    for (const each of ['n1', 'n2']) scenario.createNode(each, true)
    scenario.start()
    await scenario.settle()
    return scenario
  }

  get running(): AttacherProcess {
    if (this.process === undefined) throw new Error('nothing runs')
    return this.process
  }

  /** The requests and calls that wait for their answers. */
  get inFlight(): string[] {
    return this.running.gate.inFlight.map(({ label }) => label)
  }

  get callLog(): string[] {
    return this.calls.map(({ method, volumeId, nodeId }) => `${method} ${volumeId} ${nodeId}`)
  }

  /** Returns the patches since the last call. `ID` replaces the UIDs in them. */
  takePatches(): string[] {
    const patches = this.api.served.splice(0).filter(({ verb }) => verb === 'patch')
    const texts = patches.map(
      ({ resource, name, body }) => `${resource.replace(/(?=\/|$)/, `/${name}`)} ${JSON.stringify(body)}`,
    )
    return texts.map((text) => text.replace(/"[0-9a-f]{8}-[-0-9a-f]{27}"/g, '"ID"'))
  }

  settle(): Promise<void> {
    return this.clock.settle()
  }

  /** Delivers all pending watch events. */
  async deliver(): Promise<void> {
    await this.settle()
    this.running.deliver()
    await this.settle()
  }

  flight(label: string): InFlight {
    const found = this.running.gate.inFlight.find((each) => each.label === label)
    if (found === undefined) throw new Error(`no ${label} among ${this.inFlight.join(', ')}`)
    return found
  }

  async apply(label: string): Promise<void> {
    this.flight(label).apply()
    await this.settle()
  }

  async answer(label: string, failure?: Error): Promise<void> {
    this.flight(label).answer(failure)
    await this.settle()
  }

  /** Creates an attachment, and answers all requests that come before its publish. */
  async addFinalizers(volume: string, node = 'n1'): Promise<void> {
    await this.create(volume, node)
    await this.answer(`patch persistentvolumes/${volume}`)
    await this.answer(`patch volumeattachments/${volume}.${node}`)
  }

  /** Answers all later requests and delivers all later watch events at once. */
  async answerAtOnce(): Promise<void> {
    this.running.deliverAtOnce()
    this.running.gate.open()
    await this.deliver()
  }

  async create(volume: string, node = 'n1'): Promise<void> {
    this.createAttachment(volume, node, false)
    await this.deliver()
  }

  async remove(volume: string, node = 'n1'): Promise<void> {
    this.api.delete(VOLUME_ATTACHMENTS, { name: `${volume}.${node}` })
    await this.deliver()
  }

  statusOf(volume: string, node = 'n1'): { attached?: boolean; attachError?: { message?: string } } | undefined {
    return this.attachment(volume, node)?.status as ReturnType<AttacherScenario['statusOf']>
  }
}
