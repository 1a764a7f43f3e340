// What an executable runs first, and a sidecar's script in an image: loads the bundle with its code cache and starts it.
'use strict'
const { existsSync, readFileSync } = require('node:fs')
const { createRequire } = require('node:module')
const { basename } = require('node:path')
const sea = require('node:sea')
const { setFlagsFromString } = require('node:v8')
const { Script } = require('node:vm')

/**
 * What is new has one MiB before it is looked at; how far the heap grows is set by libs/telemetry/src/memory.ts.
 * (`--optimize-for-size` has the same peak for half as much CPU again: it gives each page back at once.) Maglev pays for
 * itself, what it would inline does not: ten MiB more at the peak. What a compilation took is given back where it was
 * taken: from another thread it comes late, nine MiB at the peak. A regular expression is compiled once: twice, as V8
 * does it otherwise, is 7 ms of a start for that by which Node looks for IPv6 addresses.
 */
const FLAGS = [
  '--semi-space-growth-factor=1',
  '--no-maglev-inlining',
  '--no-opt',
  '--no-maglev-destroy-on-background',
  '--no-regexp-tier-up',
]
const CACHE = 'bundle.cache'

/** Set for another Node; none of them is wanted in a sidecar. */
const FOREIGN = ['NODE_OPTIONS', 'NODE_V8_COVERAGE']

// Without a listener the signal would open Node's debugger.
process.on('SIGUSR1', () => undefined)
startAgainWithout(sea.isSea() ? ['NODE_V8_COVERAGE'] : FOREIGN)
const { filename, text, cachedData } = sea.isSea() ? carried() : besides(__filename)
const script = new Script(`(function (exports, require, module) {${text}\n})`, { filename, cachedData })
const bundle = { exports: {} }
script.runInThisContext()(bundle.exports, createRequire(__filename), bundle)
for (const flag of FLAGS) setFlagsFromString(flag)
bundle.exports.start()

/** A cache that does not fit this Node, or none, costs time and nothing else. */
function carried() {
  const cached = sea.getAssetKeys().includes(CACHE)
  return {
    filename: `${basename(process.execPath)}.cjs`,
    text: Buffer.from(sea.getRawAsset('bundle.cjs')).latin1Slice(),
    cachedData: cached ? Buffer.from(sea.getRawAsset(CACHE)) : undefined,
  }
}

/** Node has followed them by now, so this process gives way to one that does not see them. */
function startAgainWithout(names) {
  if (!names.some((name) => process.env[name])) return
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !names.includes(name)))
  // An executable brings its flags itself, and is not named again among its arguments.
  const [program, ...script] = sea.isSea() ? [process.argv0] : [process.execPath, ...process.execArgv, __filename]
  process.execve(process.execPath, [program, ...script, ...process.argv.slice(2)], env)
}

/** The script `/name` has its bundle in a folder of the image. */
function besides(file) {
  const stem = `/usr/lib/csi-sidecars/${basename(file)}`
  return {
    filename: `${stem}.cjs`,
    text: readFileSync(`${stem}.cjs`, 'latin1'),
    cachedData: existsSync(`${stem}.cache`) ? readFileSync(`${stem}.cache`) : undefined,
  }
}
