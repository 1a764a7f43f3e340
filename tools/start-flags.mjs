/**
 * The engine's settings: the options with which Node starts a sidecar, in an executable and in an image. A start option
 * must not change V8's hash of its flags, or V8 rejects the code caches of Node and of our bundle. `start-bundle.cjs`
 * sets the one V8 flag that changes the hash.
 */
export const START_FLAGS = [
  // Node ignores OPENSSL_CONF of the environment. The first line of a script in an image has room for this flag only.
  '--openssl-config=/dev/null',
  // New objects get two halves of 1 MiB instead of 16: the peak of a burst is a third lower, its CPU time is 10 % higher.
  '--max-semi-space-size=1',
]
