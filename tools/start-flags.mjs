/**
 * What Node is started with for a sidecar. Nothing here may change V8's hash of its flags, by which it knows the code
 * caches of Node's own modules and of our bundle: with another hash all of them are compiled from source at each start.
 * The flags that do change it are set by start-bundle.cjs once the bundle is loaded. One flag is all that the first line
 * of a script in an image has room for.
 */
export const START_FLAGS = ['--disable-sigusr1'] // the signal would open a debugger

/**
 * The flags of an executable: OPENSSL_CONF of the environment, which Node reads before any script, has no effect. The
 * script of an image has no room for it.
 */
export const EXECUTABLE_FLAGS = [...START_FLAGS, '--openssl-config=/dev/null']
