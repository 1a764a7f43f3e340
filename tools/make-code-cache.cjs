// `node <start flags> --hash-seed=1 --no-sparkplug make-code-cache.cjs BUNDLE CACHE`: the code cache of a bundle, with
// every function that its loading runs. The seed makes it the same from build to build, and so does a start without
// Sparkplug: the cache says of a function whether that is compiling it, which on a busy machine differs.
'use strict'
const { readFileSync, writeFileSync } = require('node:fs')
const { createRequire } = require('node:module')
const { setFlagsFromString } = require('node:v8')
const { Script } = require('node:vm')

const [bundle, cache] = process.argv.slice(2)
const text = readFileSync(bundle, 'latin1')
const script = new Script(`(function (exports, require, module) {${text}\n})`, { filename: bundle })
const module_ = { exports: {} }
script.runInThisContext()(module_.exports, createRequire(__filename), module_)
// Both are among the flags of which V8 makes the hash that a cache is known by.
setFlagsFromString('--hash-seed=0')
setFlagsFromString('--sparkplug')
writeFileSync(cache, script.createCachedData())
