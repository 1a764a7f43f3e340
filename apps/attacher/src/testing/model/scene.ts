import { VOLUME_ATTACHMENTS } from '@csi-sidecars/kube-types'
import type { InFlight } from './gate.ts'
import type { Process } from './process.ts'
import { VOLUMES, World } from './world.ts'

/** A world told step by step: what is asked of the API and the driver is answered when the test says so. */
export class Scene extends World {
  /** With every volume and two nodes there, and an attacher that has read them. */
  static async begin(options: ConstructorParameters<typeof World>[0] = {}): Promise<Scene> {
    const scene = new Scene({ lists: false, ...options })
    for (const each of VOLUMES) scene.createVolume(each)
    for (const each of ['n1', 'n2']) scene.createNode(each, true)
    scene.start()
    await scene.settle()
    return scene
  }

  get running(): Process {
    if (this.process === undefined) throw new Error('nothing runs')
    return this.process
  }

  /** Requests and calls that wait for their answers. */
  get inFlight(): string[] {
    return this.running.gate.inFlight.map(({ label }) => label)
  }

  get callLog(): string[] {
    return this.calls.map(({ method, volumeId, nodeId }) => `${method} ${volumeId} ${nodeId}`)
  }

  settle(): Promise<void> {
    return this.clock.settle()
  }

  /** Everything that has happened is told. */
  async tell(): Promise<void> {
    await this.settle()
    this.running.deliver()
    await this.settle()
  }

  flight(label: string): InFlight {
    const found = this.running.gate.inFlight.find((each) => each.label === label)
    if (found === undefined) throw new Error(`no ${label} among ${this.inFlight.join(', ')}`)
    return found
  }

  async answer(label: string, failure?: Error): Promise<void> {
    this.flight(label).answer(failure)
    await this.settle()
  }

  /** The steps before a publish, for an attachment that was just created. */
  async claim(volume: string, node = 'n1'): Promise<void> {
    await this.create(volume, node)
    await this.answer(`patch persistentvolumes/${volume}`)
    await this.answer(`patch volumeattachments/${volume}.${node}`)
  }

  /** From now on every request is answered, and everything told, at once. */
  async quicken(): Promise<void> {
    this.api.onChange(() => this.process?.deliver())
    this.running.gate.open()
    await this.tell()
  }

  async create(volume: string, node = 'n1'): Promise<void> {
    this.createAttachment(volume, node, false)
    await this.tell()
  }

  async remove(volume: string, node = 'n1'): Promise<void> {
    this.api.delete(VOLUME_ATTACHMENTS, `${volume}.${node}`)
    await this.tell()
  }

  statusOf(volume: string, node = 'n1'): { attached?: boolean; attachError?: { message?: string } } | undefined {
    return this.attachment(volume, node)?.status as ReturnType<Scene['statusOf']>
  }
}
