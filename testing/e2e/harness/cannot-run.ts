/** Thrown by a test that cannot run on this machine or with this version of Kubernetes. The message says why. */
export class CannotRun extends Error {
  override readonly name = 'CannotRun'
}
