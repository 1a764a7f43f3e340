export { TranslationError, type TranslationErrorCode } from './rules/translation-error.ts'
export {
  inTreeNameFromCSIName,
  isMigratedCSIDriverByName,
  isPVMigratable,
  repairVolumeHandle,
  translateCSIPVToInTree,
  translateInTreePVToCSI,
  translateInTreeStorageClassToCSI,
} from './translate.ts'
