import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'

/** A Node program in a child process that exchanges messages with this process. It ends when this process ends. */
export class Child<Message> implements AsyncDisposable {
  readonly #child: ChildProcess
  readonly #exited: Promise<unknown>

  constructor(program: URL, args: readonly string[] = []) {
    this.#child = fork(program, args)
    this.#exited = once(this.#child, 'exit')
  }

  send(message: object | string): void {
    this.#child.send(message)
  }

  /** Sends the question, if given, and returns the child's next message. */
  async next(question?: object | string): Promise<Message> {
    const gone = this.#exited.then((): never => {
      throw new Error(`${this.#child.spawnfile} ${this.#child.spawnargs[1]} has ended with ${this.#child.exitCode}`)
    })
    const answer = once(this.#child, 'message')
    if (question !== undefined) this.send(question)
    const [message] = (await Promise.race([answer, gone])) as [Message]
    return message
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#child.connected) this.#child.disconnect()
    await this.#exited
  }
}
