// `node <start flags> --hash-seed=1 --no-sparkplug make-code-cache.cjs BUNDLE CACHE` writes the code cache of a bundle,
// with every function that runs while the bundle is loaded. Two V8 flags make the cache reproducible: they fix the hash
// seed, and switch off the background compiler.
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
// V8 accepts a cache only with equal flags, so the flags get their default values before the cache is created.
setFlagsFromString('--hash-seed=0')
setFlagsFromString('--sparkplug')
writeFileSync(cache, script.createCachedData())
