#include "intercept/evidence/judged_objects.h"

#include <algorithm>
#include <memory>
#include <mutex>
#include <vector>

#include "intercept/evidence/evidence.h"
#include "intercept/loaded_objects.h"
#include "intercept/patch/architecture.h"

namespace blastoff::intercept {
namespace {

struct JudgedObjects {
  std::mutex mutex;
  std::vector<std::unique_ptr<JudgedObject>> all;

  /// nullptr: the object has to be judged.
  const JudgedObject* find(const LoadedObject& object, std::uint64_t unloads) const {
    for (const auto& each : all)
      if (each->begin == object.begin && each->end == object.end && each->path == object.path &&
          each->unloads == unloads)
        return each.get();
    return nullptr;
  }
};

JudgedObjects& judged_objects() {
  static JudgedObjects& one = *new JudgedObjects;
  return one;
}

std::unique_ptr<JudgedObject> judge(const LoadedObject& object, const ObjectFile* file, std::uint64_t unloads) {
  auto result = std::make_unique<JudgedObject>(
      JudgedObject{object.begin, object.end, object.path, object.bias, unloads, {}, nullptr});
  if (file != nullptr && file->machine() == patch::native_machine && file->may_define_blas())
    result->found = find_named_functions(*file, object.path.c_str());
  result->to_ask = make_library(result->found, object.bias);
  return result;
}

}  // namespace

const BlasFunction* JudgedObject::find(std::string_view symbol, const void* function) const {
  const auto address = reinterpret_cast<std::uintptr_t>(function);
  const auto is = [&](const BlasFunction& each) {
    return (each.indirect || each.address + bias == address) &&
           std::find(each.names.begin(), each.names.end(), symbol) != each.names.end();
  };
  const auto place = std::find_if(found.functions.begin(), found.functions.end(), is);
  return place == found.functions.end() ? nullptr : &*place;
}

bool JudgedObject::hands_on(std::string_view symbol) const {
  return std::any_of(found.left_alone.begin(), found.left_alone.end(),
                     [&](const LeftAlone& each) { return each.name == symbol && each.rule == hands_on_rule; });
}

const JudgedObject& judged_object(const LoadedObject& object, const ObjectFile& file) {
  const std::uint64_t unloads = linker_counts().unloads;
  JudgedObjects& objects = judged_objects();
  const std::lock_guard lock(objects.mutex);
  if (const JudgedObject* const known = objects.find(object, unloads)) return *known;
  objects.all.push_back(judge(object, &file, unloads));
  return *objects.all.back();
}

const JudgedObject* judged_object_of(const void* function) {
  const std::optional<LoadedObject> object = object_of(function);
  if (!object) return nullptr;
  const std::uint64_t unloads = linker_counts().unloads;
  JudgedObjects& objects = judged_objects();
  const std::lock_guard lock(objects.mutex);
  if (const JudgedObject* const known = objects.find(*object, unloads)) return known;
  const auto file = ObjectFile::open(file_of(*object));
  objects.all.push_back(judge(*object, file ? &*file : nullptr, unloads));
  return objects.all.back().get();
}

}  // namespace blastoff::intercept
