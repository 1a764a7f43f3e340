/**
 * An event that a key waits for: a change of an object, by its kind and its name. The key runs as soon as it happens,
 * instead of at the end of its back-off.
 *
 * Each controller has a union `K` of the kinds that its keys wait for. `Run.waitFor`, `Enqueuer.wake` and
 * `Controller.wakers` share it, so a wait for a kind that no source reports does not compile.
 */
export interface WakeEvent<K extends string = string> {
  readonly kind: K
  /** The name of the object. Default: the event concerns all objects of the kind. */
  readonly name?: string
}
