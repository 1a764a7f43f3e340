/** The command cannot run here. The message is one line: what is wrong, and what to do. The exit code is 2. */
export class RefusedError extends Error {
  override readonly name = 'RefusedError'
}
