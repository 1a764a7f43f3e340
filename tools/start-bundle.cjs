// The first script of an executable and of an image: it loads the bundle with its code cache and starts it.
'use strict'
const { existsSync, readFileSync } = require('node:fs')
const { createRequire } = require('node:module')
const { basename } = require('node:path')
const sea = require('node:sea')
const { setFlagsFromString } = require('node:v8')
const { Script } = require('node:vm')

/**
 * The start options for NODE_OPTIONS in an image, because the first line of a script can contain only one option. An
 * executable has all options of `start-flags.mjs` built in.
 */
const SCRIPT_OPTIONS = '--max-semi-space-size=4'
/**
 * The growth in percent after which V8 collects the old generation of the heap. Without this flag, the heap may grow to
 * four times its size. The flag is set after the code caches are loaded and before the work begins.
 */
const HEAP_GROWTH = '--heap-growing-percent=60'
const CACHE = 'bundle.cache'

// Without a listener SIGUSR1 would open Node's debugger.
process.on('SIGUSR1', () => undefined)
startAgain(sea.isSea() ? undefined : SCRIPT_OPTIONS)
const { filename, text, cachedData } = sea.isSea() ? carried() : besides(__filename)
const script = new Script(`(function (exports, require, module) {${text}\n})`, { filename, cachedData })
const bundle = { exports: {} }
script.runInThisContext()(bundle.exports, createRequire(__filename), bundle)
setFlagsFromString(HEAP_GROWTH)
bundle.exports.start()

/** Returns the bundle in the executable, and its code cache. A missing or rejected cache only costs time. */
function carried() {
  const cached = sea.getAssetKeys().includes(CACHE)
  return {
    filename: `${basename(process.execPath)}.cjs`,
    text: Buffer.from(sea.getRawAsset('bundle.cjs')).latin1Slice(),
    cachedData: cached ? Buffer.from(sea.getRawAsset(CACHE)) : undefined,
  }
}

/**
 * Starts this program again if NODE_OPTIONS differs from `options`, because Node reads NODE_OPTIONS only at its start.
 * An executable ignores NODE_OPTIONS, so its `options` are undefined.
 */
function startAgain(options) {
  const { NODE_OPTIONS, NODE_V8_COVERAGE, ...env } = process.env
  if (!NODE_V8_COVERAGE && (options === undefined || NODE_OPTIONS === options)) return
  // An executable has its flags built in, and its path is not one of its arguments.
  const [program, ...script] = sea.isSea() ? [process.argv0] : [process.execPath, ...process.execArgv, __filename]
  const given = options ?? NODE_OPTIONS
  if (given !== undefined) env.NODE_OPTIONS = given
  process.execve(process.execPath, [program, ...script, ...process.argv.slice(2)], env)
}

/** Returns the bundle and the code cache for a start script in an image. They are in /usr/lib/csi-sidecars. */
function besides(file) {
  const stem = `/usr/lib/csi-sidecars/${basename(file)}`
  return {
    filename: `${stem}.cjs`,
    text: readFileSync(`${stem}.cjs`, 'latin1'),
    cachedData: existsSync(`${stem}.cache`) ? readFileSync(`${stem}.cache`) : undefined,
  }
}
