#include "launcher/run.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <ctime>
#include <optional>

#include "launcher/child.h"
#include "launcher/environment.h"
#include "launcher/executable.h"
#include "launcher/helper.h"
#include "launcher/installation.h"
#include "launcher/membership.h"
#include "launcher/path.h"
#include "launcher/run_directories.h"
#include "launcher/site.h"
#include "launcher/witness.h"
#include "platform/log.h"
#include "platform/process.h"
#include "report/counter_layout.h"
#include "report/marks.h"

namespace blastoff::launcher {

namespace {

/// Number of counter files above which the helper folds those of ended processes.
constexpr std::ptrdiff_t many_files = 32;
/// A program must run for so long before energy counters are read, so that nothing delays the end of short programs.
constexpr timespec before_all{0, 20'000'000};
/// Between two looks whether there is something for a helper to do.
constexpr timespec pause{0, 250'000'000};

double seconds_since_boot() {
  timespec now{};
  clock_gettime(CLOCK_BOOTTIME, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

/// Makes sure that the processes of the run keep their marks.
void want_marks(const std::string& directory) {
  const std::string path = path_of(bulk(directory), report::marks_file);
  const platform::Descriptor made(open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
}

/// Stops the launcher because the program was stopped, so that the shell sees its job stopped. Stops it only once, even
/// if the same signal from the terminal is still pending.
void stop_as(int number) {
  raise(number);
  sigset_t own;
  sigemptyset(&own);
  sigaddset(&own, number);
  sigprocmask(SIG_UNBLOCK, &own, nullptr);
  const sigset_t forwarded = forwarded_signals();
  sigprocmask(SIG_BLOCK, &forwarded, nullptr);
}

/// One run of a program, with what belongs to it.
class Run {
 public:
  Run(std::vector<std::string> command, std::optional<Python> python, Environment environment)
      : command_(std::move(command)),
        python_(std::move(python)),
        environment_(std::move(environment)),
        member_(join()) {
    if (member_) environment_.set("BLASTOFF_RUN_DIRECTORY", member_->directory);
  }

  /// Starts the program. Prepares first what must be ready before it starts.
  Expected<void> begin(const std::string& program) {
    if (member_ && (metered() || sampled())) want_marks(member_->directory);
    if (auto prepared = needs_helper_first() ? prepare() : Expected<void>{}; !prepared) return prepared;
    started_at_ = seconds_since_boot();
    const auto child = start(program, command_, environment_);
    if (!child) {
      withdraw();
      return tl::unexpected(child.error());
    }
    child_ = *child;
    return {};
  }

  /// Waits for the program and returns its wait status. Passes on signals that were sent to the launcher only.
  int attend() {
    std::signal(SIGPIPE, SIG_IGN);
    Witness witness;
    std::vector<int> kept = files_for_reports();
    kept.push_back(witness.pipe());
    if (helper_) kept.push_back(helper_->connection());
    let_go_of_files(kept);
    if (helper_)
      helper_->tell(started());
    else if (member_ && reported() && (rank_ < 0 || sampled()))
      call_helper();
    Places::of_environment().sweep();
    return wait(witness);
  }

  /// Lets the last launcher of the run report all its processes.
  void finish(int status) {
    const std::string ended = "ended " + std::to_string(child_) + " " + std::to_string(status);
    if (helper_ && !tell_and_hear(ended, "finished")) helper_.reset();
    if (!member_) return say_that_nothing_was_counted();
    if (leave(*member_)) report(ended);
    if (helper_) helper_->dismiss();
  }

 private:
  /// Whether anything is said or written of this run.
  bool reported() const {
    return sampled() || environment_.get("BLASTOFF_SUMMARY") != "never" || !environment_.get("BLASTOFF_REPORT").empty();
  }
  bool metered() const { return reported() && environment_.get("BLASTOFF_ENERGY") != "off"; }
  bool sampled() const { return !environment_.get("BLASTOFF_MEMORY").empty(); }
  std::vector<int> files_for_reports() const {
    return environment_.get("BLASTOFF_REPORT") == "/dev/stdout" ? std::vector<int>{STDOUT_FILENO} : std::vector<int>{};
  }
  bool may_be_on_several_nodes() const {
    return platform::global_size() == 0 || platform::global_size() > platform::local_size();
  }

  /// Ranks on several nodes that write reports meet before they start (run/nodes.py), and an MPS daemon must run before
  /// the program opens a device.
  bool needs_helper_first() const {
    if (!member_) return false;
    const std::string_view summary = environment_.get("BLASTOFF_SUMMARY");
    const bool sums_up = summary.empty() || summary == "auto" || summary == "always";
    const bool meets = !member_->job.empty() && sums_up && !environment_.get("BLASTOFF_REPORT").empty();
    return environment_.get("BLASTOFF_MPS") == "auto" || (meets && may_be_on_several_nodes());
  }

  Expected<void> prepare() {
    if (!start_helper()) return fail(why_no_helper_);
    helper_->tell("prepare");
    for (std::string said = helper_->hear(); said != "ready"; said = helper_->hear()) {
      const std::size_t equals = said.find('=');
      if (equals == std::string::npos) return {};
      environment_.set(said.substr(0, equals), said.substr(equals + 1));
    }
    return {};
  }

  /// If the helper cannot report, it says why, and the counters stay.
  void report(const std::string& ended) {
    if (!reported()) return remove_run(member_->directory);
    if (!helper_ && start_helper() && !tell_and_hear(ended, "finished")) {
      helper_.reset();
      why_no_helper_ = "its Python process has ended";
    }
    if (!helper_)
      platform::log_line("this run cannot be summed up: %s; its counters are in %s", why_no_helper_.c_str(),
                         member_->directory.c_str());
    else if (tell_and_hear("last " + member_->directory, "reported"))
      remove_run(member_->directory);
  }

  /// Leaves the run because nothing was started.
  void withdraw() {
    const bool last = member_ && leave(*member_);
    if (helper_ && last) helper_->tell("withdraw");
    if (helper_) helper_->dismiss();
    if (last) remove_run(member_->directory);
  }

  /// Starts the helper; false if that fails.
  bool start_helper() {
    const auto python = python_ ? Expected<Python>(*python_) : find_python();
    auto helper = python.and_then([&](const Python& found) { return started_by(found); });
    if (helper)
      helper_ = std::move(*helper);
    else
      why_no_helper_ = helper.error().message;
    return helper_.has_value();
  }

  Expected<Helper> started_by(const Python& python) const {
    const bool elsewhere = platform::global_size() > platform::local_size();
    std::vector<std::string> command = command_of(python, "blastoff.run.helper");
    for (const std::string& word :
         {member_->directory, member_->job, std::string(elsewhere ? "elsewhere" : ""), std::to_string(energy_.get())})
      command.push_back(word);
    command.insert(command.end(), command_.begin(), command_.end());
    std::vector<int> kept = files_for_reports();
    if (energy_) kept.push_back(energy_.get());
    return Helper::start(command, own_environment(environment_), kept);
  }

  /// Starts the helper while the program runs.
  bool call_helper() {
    if (!start_helper()) return false;
    helper_->tell(started());
    return true;
  }

  std::string started() const { return "started " + std::to_string(child_) + " " + std::to_string(started_at_); }

  bool tell_and_hear(const std::string& said, std::string_view answer) {
    helper_->tell(said);
    return helper_->hear() == answer;
  }

  int wait(Witness& witness) {
    const sigset_t heard = heard_signals();
    for (const timespec* patience = &before_all;;) {
      siginfo_t signal{};
      const bool nothing_to_look_for = helper_ || !member_ || !why_no_helper_.empty();
      const int number = nothing_to_look_for ? sigwaitinfo(&heard, &signal) : sigtimedwait(&heard, &signal, patience);
      if (number < 0) {
        if (!nothing_to_look_for && needs_helper_now()) call_helper();
        patience = &pause;
      } else if (number != SIGCHLD) {
        if (!got_anyway(signal, witness)) kill(child_, number);
      } else if (const auto status = state_of_child()) {
        return *status;
      }
    }
  }

  /// Whether nobody reads energy counters yet, or there are counters to fold. Only one launcher of a run reads, and its
  /// helper inherits the lock.
  bool needs_helper_now() {
    if (metered() && !energy_) {
      const std::string path = path_of(bulk(member_->directory), energy_lock);
      platform::Descriptor lock(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
      if (lock && flock(lock.get(), LOCK_EX | LOCK_NB) == 0) energy_ = std::move(lock);
      if (energy_) return true;
    }
    const auto is_counter = [](const std::string& name) { return name.ends_with(report::counter_extension); };
    return std::ranges::count_if(files_of_run(member_->directory), is_counter) > many_files;
  }

  /// Whether the program got the signal too, because it was sent to the whole process group and the program is still in
  /// the group. If that is not known, a signal from the kernel is taken to come from a terminal, which sends it to the
  /// group.
  bool got_anyway(const siginfo_t& signal, Witness& witness) const {
    const bool whole_group = witness.heard(signal.si_signo).value_or(signal.si_code > 0);
    return whole_group && getpgid(child_) == getpgrp();
  }

  /// The program's wait status; nullopt if it still runs.
  std::optional<int> state_of_child() const {
    int status = 0;
    while (waitpid(child_, &status, WNOHANG | WUNTRACED) == child_) {
      if (!WIFSTOPPED(status)) return status;
      stop_as(WSTOPSIG(status));
    }
    return std::nullopt;
  }

  /// Says that the run has no directory. Only one rank says so.
  void say_that_nothing_was_counted() const {
    if (sampled())
      platform::log_line("the memory of this run is not sampled: there is no place for the directory of a run");
    if (environment_.get("BLASTOFF_SUMMARY") == "never" || rank_ > 0) return;
    std::string places;
    for (const std::string& base : Places::of_environment().all()) places += (places.empty() ? "" : ", ") + base;
    platform::log_line("no place for the counters of this run (%s): each process reports for itself if it ends by exit",
                       places.c_str());
  }

  const std::vector<std::string> command_;
  const std::optional<Python> python_;
  Environment environment_;
  const int rank_ = platform::global_rank();
  std::optional<Member> member_;
  std::optional<Helper> helper_;
  std::string why_no_helper_;
  platform::Descriptor energy_;  ///< the lock of the launcher that reads energy counters
  pid_t child_ = 0;
  double started_at_ = 0;
};

}  // namespace

Failure run(const CommandLine& line, const std::optional<Python>& python) {
  const auto library = find_library();
  if (!library) return library.error();
  if (line.program.empty()) return {"run: no program given; usage: blastoff run [options] [--] PROGRAM [ARGUMENT...]"};
  if (const auto valid = check_variables(line); !valid) return valid.error();
  const std::string& name = line.program.front();
  const auto program = find_program(name);
  if (!program) {
    const bool missing = access(name.c_str(), F_OK) != 0;
    return {program.error().message + (missing ? value_hint(line, name) : ""), program.error().status};
  }
  const auto obstacle = why_not_preloadable(*program);
  if (!obstacle) return obstacle.error();
  if (!obstacle->empty()) return {*program + ": " + *obstacle};
  if (platform::global_rank() <= 0)
    for (const std::string& problem : site_defaults().problems) platform::log_line("%s", problem.c_str());
  auto environment = program_environment(line, *library);
  if (!environment) return environment.error();
  Run run(line.program, python, std::move(*environment));
  if (const auto begun = run.begin(*program); !begun) return begun.error();
  const int status = run.attend();
  run.finish(status);
  end_as(status);
}

}  // namespace blastoff::launcher
