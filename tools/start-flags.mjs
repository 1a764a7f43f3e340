/**
 * What Node is started with for a sidecar, in an executable and in an image. Nothing here may change V8's hash of its
 * flags, by which it knows the code caches of Node's own modules and of our bundle: with another hash all of them are
 * compiled from source at each start. The flags that do change it are set by start-bundle.cjs once the bundle is loaded.
 * One flag is all that the first line of a script in an image has room for: it is the one that no script can replace,
 * since Node follows OPENSSL_CONF of the environment before it runs any.
 */
export const START_FLAGS = ['--openssl-config=/dev/null']
